"""What stands around a line of a text: loops, locks, functions, the lines that feed it."""

from __future__ import annotations

import ast
import re

from quickfit.code.syntax import Def, Loop, called_name, names_in, own_nodes, parse_or_none

# What a condition asks that is true in the script and false in a worker that imports it.
_GUARDS = {"__name__", "parent_process", "current_process"}


def held_names(text: str, line: int) -> set[str]:
    """Return the last parts of what the `with` blocks around a line hold: `self._lock` is `_lock`.

    What was acquired by hand before it in the same function counts too.
    """
    tree = parse_or_none(text)
    if tree is None:
        return set()
    names: set[str] = set()
    for node in _nodes_around(tree, line):
        if isinstance(node, ast.With | ast.AsyncWith) and line > node.lineno:
            names |= {_last(item.context_expr) for item in node.items}
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            names |= _acquired(node, line)
    return names - {""}


def _acquired(scope: ast.AST, line: int) -> set[str]:
    """Return what was acquired above a line and not released in between."""
    taken: set[str] = set()
    calls = [n for n in ast.walk(scope) if isinstance(n, ast.Call) and n.lineno < line]
    for call in sorted(calls, key=lambda one: one.lineno):
        if not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr == "acquire":
            taken.add(_last(call.func.value))
        elif call.func.attr == "release":
            taken.discard(_last(call.func.value))
    return taken


def lines_taking(text: str, name: str) -> list[int]:
    """Return the lines that take a lock of that name."""
    tree = parse_or_none(text)
    found: set[int] = set()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.With | ast.AsyncWith):
            found |= {node.lineno for item in node.items if _last(item.context_expr) == name}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            takes = node.func.attr == "acquire" and _last(node.func.value) == name
            found |= {node.lineno} if takes else set()
    return sorted(found)


def line_above(text: str, line: int, pattern: str, *, most: int) -> int | None:
    """Return the nearest line, at or above one, that a pattern is found in."""
    lines = text.split("\n")
    for number in range(line, max(line - most, 0), -1):
        if number <= len(lines) and re.search(pattern, lines[number - 1]):
            return number
    return None


def loop_inside(text: str, line: int) -> int | None:
    """Return the line of the first loop in the body of the loop that begins at a line."""
    tree = parse_or_none(text)
    loops = [n for n in ast.walk(tree) if isinstance(n, Loop)] if tree is not None else []
    outer = next((loop for loop in loops if loop.lineno == line), None)
    inner = [s for s in outer.body if isinstance(s, Loop)] if outer is not None else []
    return inner[0].lineno if inner else None


def is_loop_header(text: str, line: int) -> bool:
    """Tell whether a line begins a loop."""
    tree = parse_or_none(text)
    return tree is not None and any(
        isinstance(node, Loop) and node.lineno == line for node in ast.walk(tree)
    )


def loop_around(text: str, line: int) -> Loop | None:
    """Return the innermost loop whose body a line is in."""
    tree = parse_or_none(text)
    if tree is None:
        return None
    loops = [n for n in _nodes_around(tree, line) if isinstance(n, Loop) and line > n.lineno]
    return loops[-1] if loops else None


# Fewer turns than this make no graph large.
FEW_TURNS = 16


def unrolled_loop(text: str, line: int) -> int | None:
    """Return the line of the loop over a `range` around a line whose turns all do the same.

    Not one that goes through layers (`self.blocks[i](x)`): each of them belongs into a graph.
    """
    loop = loop_around(text, line)
    turns = loop.iter if isinstance(loop, ast.For) else None
    if loop is None or not isinstance(turns, ast.Call):
        return None
    if called_name(turns) not in ("range", "trange"):
        return None
    count = turns.args[-1:]
    if count and isinstance(count[0], ast.Constant) and _is_few(count[0].value):
        return None
    calls = [n for part in loop.body for n in ast.walk(part) if isinstance(n, ast.Call)]
    return None if any(isinstance(n.func, ast.Subscript) for n in calls) else loop.lineno


def _is_few(turns: object) -> bool:
    return isinstance(turns, int) and turns < FEW_TURNS


def outermost_loop(text: str, line: int) -> tuple[int, int]:
    """Return first and last line of the outermost loop around a line in its function.

    Without a loop it is the line itself.
    """
    tree = parse_or_none(text)
    around: list[tuple[int, int]] = []
    for node in _nodes_around(tree, line) if tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            around = []
        elif isinstance(node, Loop):
            around.append((node.lineno, node.end_lineno or line))
    return around[0] if around else (line, line)


def loop_without_yield(text: str, line: int) -> bool:
    """Tell whether a line is in a loop that gives nothing, by itself or around it."""
    loop = loop_around(text, line)
    return loop is not None and not any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(loop)
    )


def is_in_generator(text: str, line: int) -> bool:
    """Tell whether the innermost function around a line yields."""
    tree = parse_or_none(text)
    functions = [
        node
        for node in (_nodes_around(tree, line) if tree is not None else ())
        if isinstance(node, Def)
    ]
    nodes = own_nodes(functions[-1]) if functions else []
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes)


def is_guarded(text: str, line: int) -> bool:
    """Tell whether a line runs only in the script's own process, as by `__name__ == "__main__"`."""
    tree = parse_or_none(text)
    guards = (
        [n for n in _nodes_around(tree, line) if isinstance(n, ast.If)] if tree is not None else []
    )
    return any(_GUARDS & _names(guard.test) for guard in guards)


def _names(expression: ast.expr) -> set[str]:
    found = [node for node in ast.walk(expression) if isinstance(node, ast.Name | ast.Attribute)]
    return {node.id if isinstance(node, ast.Name) else node.attr for node in found}


def is_endless(text: str, line: int) -> bool:
    """Tell whether a generator function never ends: all it does is in a `while True`.

    Args:
        text: the file.
        line: where the function begins, or any line inside it.
    """
    tree = parse_or_none(text)
    if tree is None:
        return False
    functions = [node for node in _nodes_around(tree, line) if isinstance(node, Def)]
    if not functions:
        return False
    endless = [s for s in functions[-1].body if isinstance(s, ast.While) and _is_true(s.test)]
    return any(_gives(loop) and not _leaves(loop) for loop in endless)


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _gives(loop: ast.While) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(loop))


def _leaves(loop: ast.While) -> bool:
    """Tell whether a loop can be left by its own text; an exception may always end it."""
    inner = {
        node for other in own_nodes(loop) if isinstance(other, Loop) for node in ast.walk(other)
    }
    return any(
        isinstance(node, ast.Return | ast.Raise)
        or (isinstance(node, ast.Break) and node not in inner)
        for node in own_nodes(loop)
    )


def _nodes_around(tree: ast.AST, line: int) -> list[ast.AST]:
    """Return the nodes around a line, from the outside."""
    found: list[ast.AST] = [tree]
    for node in ast.walk(tree):
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if first is not None and last is not None and first <= line <= last:
            found.append(node)
    # From the outermost: those that begin first and end last.
    return [found[0], *sorted(found[1:], key=_span)]


def _span(node: ast.AST) -> tuple[int, int]:
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    return first, -last


def _last(expression: ast.expr) -> str:
    if isinstance(expression, ast.Call):
        return _last(expression.func)
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def loop_line(text: str, line: int) -> int:
    """Return the line of the `while` that a line is the test or the first line of.

    Bytecode tells where a `for` stands, but of a `while` only where its first instruction does.
    Where no loop is found, it is the line itself.
    """
    tree = parse_or_none(text)
    nodes = list(ast.walk(tree)) if tree is not None else []
    if any(
        isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and _line(node) == line
        for node in nodes
    ):
        return line
    whiles = [node for node in nodes if isinstance(node, ast.While)]
    around = [node for node in whiles if node.lineno <= line <= node.body[0].lineno]
    return max((node.lineno for node in around), default=line)


def _line(node: ast.For | ast.AsyncFor | ast.comprehension) -> int:
    return node.iter.lineno if isinstance(node, ast.comprehension) else node.lineno


def is_run_often(text: str, line: int) -> bool:
    """Tell whether a loop or a function is around a line: then it may run more than once."""
    return _innermost(text, line) is not None


def calls_around(text: str, line: int) -> set[str]:
    """Return the names of what the innermost loop or function around a line calls."""
    scope = _innermost(text, line)
    nodes = ast.walk(scope) if scope is not None else ()
    return {called_name(node) for node in nodes if isinstance(node, ast.Call)}


def is_in_one_function(text: str, line: int, other: int) -> bool:
    """Tell whether two lines are in the same function, or both in none."""
    return _function(text, line) == _function(text, other)


def _function(text: str, line: int) -> int:
    tree = parse_or_none(text)
    nodes = ast.walk(tree) if tree is not None else ()
    around = [n for n in nodes if isinstance(n, Def)]
    begins = [n.lineno for n in around if n.lineno <= line <= (n.end_lineno or 0)]
    return max(begins, default=0)


def _innermost(text: str, line: int) -> ast.stmt | None:
    tree = parse_or_none(text)
    nodes = ast.walk(tree) if tree is not None else ()
    around = [
        node
        for node in nodes
        if isinstance(node, Loop | Def) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno, default=None)


_BLOCKS = (Def, Loop, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.ClassDef)


def loop_end(text: str, line: int) -> int:
    """Return the last line of the loop that stands at a line; the line itself without one."""
    tree = parse_or_none(text)
    loops = [n for n in ast.walk(tree) if isinstance(n, Loop)] if tree is not None else []
    return max((n.end_lineno or line for n in loops if n.lineno == line), default=line)


def feeding_lines(text: str, line: int) -> set[int]:
    """Return the lines of the statement at a line, and of those that make what it works on.

    They are looked for in the innermost loop or function around it: what is made before a loop is
    not made in each of its turns.
    """
    tree = parse_or_none(text)
    if tree is None:
        return {line}
    scope = _innermost(text, line) or tree
    statements = _statements(scope)
    here = [s for s in statements if s.lineno <= line <= (s.end_lineno or 0)]
    fed, names = list(here), _names_read(here)
    for _ in statements:
        more = [s for s in statements if s not in fed and _names_bound(s) & names]
        if not more:
            break
        fed += more
        names |= _names_read(more)
    lines = {line}.union(*(range(s.lineno, (s.end_lineno or s.lineno) + 1) for s in fed))
    if isinstance(scope, ast.For | ast.AsyncFor) and names_in(scope.target) & names:
        lines.add(scope.lineno)  # a generator makes it, at the loop's own line
    return lines


def _statements(scope: ast.AST) -> list[ast.stmt]:
    """Return the simple statements of a block, not those of functions inside it."""
    found: list[ast.stmt] = []
    waiting = [node for node in ast.iter_child_nodes(scope) if isinstance(node, ast.stmt)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Def | ast.ClassDef):
            continue
        if isinstance(node, _BLOCKS):
            waiting += [n for n in ast.walk(node) if isinstance(n, ast.stmt) and n is not node]
        elif node not in found:
            found.append(node)
    return sorted(found, key=lambda node: node.lineno)


def _names_read(statements: list[ast.stmt]) -> set[str]:
    nodes = (node for statement in statements for node in ast.walk(statement))
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _names_bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement assigns, also to a part such as `batch[0] = ...`."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
        targets = [statement.target]
    else:
        return set()
    return set().union(*map(names_in, targets))


def call_on_line(text: str, line: int, method: str) -> ast.Call | None:
    """Return the call of `.method(...)` or `method(...)` whose name stands on a line."""
    tree = parse_or_none(text)
    if tree is None:
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [call for call in calls if called_name(call) == method]
    # A chain is one expression over many lines; the name's own line is the end of its function.
    on_line = [call for call in named if call.func.end_lineno == line]
    within = [c for c in named if (c.func.end_lineno or 0) <= line <= (c.end_lineno or 0)]
    found = on_line or (within if len(within) == 1 else [])
    return found[0] if len(found) == 1 else None


def calls_named(text: str, *names: str) -> list[ast.Call]:
    """Return the calls of functions, methods or classes of some names, in the order of lines."""
    tree = parse_or_none(text)
    if tree is None:
        return []
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and called_name(n) in names]
    return sorted(found, key=lambda call: (call.lineno, call.col_offset))


def line_of_call(call: ast.Call) -> int:
    """Return the line on which the name of what is called stands."""
    return call.func.end_lineno or call.lineno


def call_line(text: str, line: int, word: str) -> int:
    """Return the line on which the call at a line stands whose name has a word in it."""
    tree = parse_or_none(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree else []
    spanning = [
        c for c in calls if c.lineno <= line <= (c.end_lineno or 0) and word in called_name(c)
    ]
    return max((call.func.end_lineno or line for call in spanning), default=line)


def module_alias(text: str, module: str, default: str) -> str:
    """Return the name under which a text imports a module, such as `tf` for tensorflow."""
    tree = parse_or_none(text)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)] if tree else []
    names = [alias for node in imports for alias in node.names]
    for alias in names:
        if alias.name == module:
            return alias.asname or alias.name
    # `import tensorflow.keras` binds `tensorflow` too.
    is_bound = any(a.asname is None and a.name.startswith(f"{module}.") for a in names)
    return module if is_bound else default

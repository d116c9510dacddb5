"""Builds a dataset once, before the loop over the epochs, if each turn builds the same."""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Iterator, Sequence

from quickfit.code.datasets import METHODS
from quickfit.code.module import Module
from quickfit.code.scopes import may_bind, only_binding, parameters, target_of, value_of_statement
from quickfit.code.syntax import name_of
from quickfit.findings import Change, Edit, FixClass

Loop = ast.For | ast.AsyncFor | ast.While
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
# What hands the elements of a dataset on to a loop.
_AROUND = ("enumerate", "tqdm", "iter")
_NAMES = ("dataset", "ds", "training_data", "epoch_data")


def built_once(
    modules: Sequence[Module], *, file: str, line: int, is_random: bool
) -> Change | None:
    """Return the change that moves the dataset built at a line out of the loop around it."""
    module = next((module for module in modules if module.path == file), None)
    statement = _statement_at(module, line) if module is not None else None
    if module is None or statement is None:
        return None
    if target_of(statement) is None:
        edits = _moved_call(modules, module, statement)
    elif _loop_around(module, statement) is not None:
        edits = _moved_statements(modules, module, statement)
    else:
        edits = _moved_to_caller(modules, module, statement)
    if edits is None:
        return None
    return Change(
        "Build the pipeline once, before the loop over the epochs",
        FixClass.MAY_CHANGE_RESULTS if is_random else FixClass.SAME_RESULTS,
        edits,
        "Each epoch still gets a new random order; it is another one than before."
        if is_random
        else "",
    )


def _statement_at(module: Module, line: int) -> ast.stmt | None:
    """Return the innermost statement that begins at a line or spans it."""
    found = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= _header_end(node)
    ]
    return max(found, key=lambda node: node.lineno, default=None)


def _header_end(node: ast.stmt) -> int:
    """Return the last line of a statement, without the block of one that has a block."""
    if isinstance(node, ast.For | ast.AsyncFor):
        return node.iter.end_lineno or node.lineno
    body = getattr(node, "body", None)
    return node.lineno if body else node.end_lineno or node.lineno


# -- `ds = ...` in the loop --------------------------------------------------------------------


def _moved_statements(
    modules: Sequence[Module], module: Module, statement: ast.stmt
) -> tuple[Edit, ...] | None:
    loop = _loop_around(module, statement)
    group = _group(module, statement)
    if loop is None or group is None or module.block(statement) is not loop.body:
        return None
    name = target_of(statement) or ""
    header = loop.target if isinstance(loop, ast.For | ast.AsyncFor) else loop.test
    if may_bind(header, name) or _is_named_before(module, loop, group[0], name):
        return None
    if not is_settled(modules, module, [loop], _values(group), own=name):
        return None
    return _cut(module, group, loop)


def _group(module: Module, statement: ast.stmt) -> list[ast.stmt] | None:
    """Return the statements, one after the other, that build a dataset under one name."""
    name, block = target_of(statement), module.block(statement)
    storing = [s for s in block if name is not None and may_bind(s, name)]
    if not storing:
        return None
    group = block[block.index(storing[0]) : block.index(storing[-1]) + 1]
    is_whole = all(target_of(s) == name and module.is_alone(s) for s in group)
    return group if is_whole and len(group) < len(block) else None


def _values(group: Sequence[ast.stmt]) -> list[ast.expr]:
    return [value for s in group if (value := value_of_statement(s)) is not None]


def _cut(module: Module, group: Sequence[ast.stmt], loop: Loop) -> tuple[Edit, ...] | None:
    """Return the edits that move statements, with the comments above them, before a loop."""
    begin, end = module.begin(group[0])[0], module.end(group[-1])[0]
    while module.lines[begin - 2].startswith(module.indent(group[0]) + "#"):
        begin -= 1
    code = textwrap.dedent("\n".join(module.lines[begin - 1 : end]))
    added = module.insert_before(loop, code)
    while group[0] is module.block(group[0])[0] and not module.lines[end].strip():
        end += 1  # a block does not begin with an empty line
    return (added, Edit(module.path, (begin, 0), (end + 1, 0), "")) if added is not None else None


def _is_named_before(module: Module, within: ast.AST, first: ast.stmt, name: str) -> bool:
    """Tell whether a name comes up before a statement: a turn may read what one before left."""
    inside = [n for n in module.all(ast.Name, within=within) if n.id == name]
    return any(module.begin(node) < module.begin(first) for node in inside)


def _loop_around(module: Module, node: ast.AST) -> Loop | None:
    """Return the loop of the same function that a node stands in."""
    found = module.around(
        node, *_LOOPS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module
    )
    return found if isinstance(found, Loop) else None


# -- `ds = ...` in a function that a loop calls ------------------------------------------------


def _moved_to_caller(
    modules: Sequence[Module], module: Module, statement: ast.stmt
) -> tuple[Edit, ...] | None:
    """Let the caller build the dataset, and give it to the function as one more argument."""
    function, group = module.parent(statement), _group(module, statement)
    if not isinstance(function, ast.FunctionDef) or group is None:
        return None
    name, call = target_of(statement) or "", _only_call(modules, module, function)
    loop = _loop_around(module, call) if call is not None else None
    if call is None or loop is None or _is_named_before(module, function, group[0], name):
        return None
    outside = [n for n in module.all(ast.Name) if n.id == name]
    outside = [n for n in outside if module.around(n, ast.FunctionDef) is not function]
    values = _values(group)
    read = {n.id for value in values for n in ast.walk(value) if isinstance(n, ast.Name)}
    local = set(parameters(function)) | {target_of(s) for s in function.body} - {name}
    if outside or read & local:
        return None
    if not is_settled(modules, module, [loop, function], values, own=name):
        return None
    moved = _cut(module, group, loop)
    given = (
        _with_one_more(module, function.args.args, name),
        _with_one_more(module, call.args, name),
    )
    if moved is None or given[0] is None or given[1] is None:
        return None
    return (*moved, given[0], given[1])


def _only_call(
    modules: Sequence[Module], module: Module, function: ast.FunctionDef
) -> ast.Call | None:
    """Return the only place of all files that names a function, if it is a plain call of it."""
    args = function.args
    if module.parent(function) is not module.tree or function.decorator_list or args.defaults:
        return None
    if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs:
        return None
    places = [
        (other, node)
        for other in modules
        for node in ast.walk(other.tree)
        if _names_it(node, function.name)
    ]
    if len(places) != 1 or places[0][0] is not module:
        return None
    call = module.parent(places[0][1])
    is_plain = isinstance(call, ast.Call) and call.func is places[0][1] and not call.keywords
    if not is_plain or not isinstance(call, ast.Call) or len(call.args) != len(args.args):
        return None
    return None if any(isinstance(arg, ast.Starred) for arg in call.args) else call


def _names_it(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.alias):
        return node.name == name
    return getattr(node, "id", "") == name or getattr(node, "attr", "") == name


def _with_one_more(module: Module, given: Sequence[ast.AST], name: str) -> Edit | None:
    """Return the edit that adds a name behind the last argument."""
    if not given:
        return None
    place = module.end(given[-1])
    return Edit(module.path, place, place, f", {name}")


# -- `for x, y in make_dataset():` in the loop -------------------------------------------------


def _moved_call(
    modules: Sequence[Module], module: Module, statement: ast.stmt
) -> tuple[Edit, ...] | None:
    loop, call = _loop_around(module, statement), _given(statement)
    if loop is None or call is None or statement not in loop.body or not call.func:
        return None
    if not is_settled(modules, module, [loop], [call], own=""):
        return None
    used = {n.id for n in module.all(ast.Name)} | {
        arg for function in module.all(ast.FunctionDef) for arg in parameters(function)
    }
    name = next((name for name in _NAMES if name not in used), None)
    code = textwrap.dedent(module.code(call))
    added = module.insert_before(loop, f"{name} = {code}") if name is not None else None
    if added is None or name is None or "\n" in code:
        return None
    return added, module.replace(call, name)


def _given(statement: ast.stmt) -> ast.Call | None:
    """Return the call that makes what a loop, or `fit`, is given."""
    value: ast.expr | None = None
    if isinstance(statement, ast.For | ast.AsyncFor):
        value = statement.iter
        if _is_call(value, _AROUND) and isinstance(value, ast.Call) and value.args:
            value = value.args[0]
    else:
        inner = getattr(statement, "value", None)
        fits = [n for n in ast.walk(inner) if _is_call(n, ("fit",))] if inner is not None else []
        if len(fits) == 1 and isinstance(fits[0], ast.Call) and fits[0].args:
            value = fits[0].args[0]
    return value if isinstance(value, ast.Call) else None


def _is_call(node: ast.AST, names: Sequence[str]) -> bool:
    return isinstance(node, ast.Call) and name_of(node.func) in names


Function = ast.FunctionDef | ast.AsyncFunctionDef
# Functions that give the same for the same, and do nothing else.
_PLAIN = frozenset(
    re.findall(
        r"\w+",
        "len range list tuple sorted zip str int min max dict float bool enumerate isinstance set"
        " sum abs round",
    )
)
_LIBRARIES = ("tf", "tensorflow", "np", "numpy", "os", "keras", "ops", "glob", "math")


def is_settled(
    modules: Sequence[Module],
    module: Module,
    turns: Sequence[ast.AST],
    values: Sequence[ast.expr],
    *,
    own: str,
) -> bool:
    """Tell whether expressions give the same dataset in every turn.

    Args:
        scripts: all files of the user.
        script: the file of the loop.
        turns: what is done in a turn: the loop, and a function that it calls.
        values: the expressions that build the dataset.
        own: the name that they build it under, if they do so in steps.
    """
    functions = _functions(modules)
    code = _code(values, functions)
    if code is None or not all(_is_plain(node, functions) for node in code):
        return False
    if not any(_is_dataset(part) for node in code for part in ast.walk(node)):
        return False
    read = set().union(*(_read(node) for node in code)) - {own}
    attributes = {n.attr for node in code for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    if any(_gives_anew(module, turn, read, attributes) for turn in turns):
        return False
    fixed = _modules(module) | set(functions) | _constants(module, read) | set(dir(builtins))
    # What else a turn does with them may change what they hold.
    moved = {node for value in values for node in ast.walk(value)}
    named = [
        node for turn in turns for node in module.all(ast.Name, within=turn) if node not in moved
    ]
    return not any(node.id in read - fixed for node in named)


def _functions(modules: Sequence[Module]) -> dict[str, list[Function]]:
    """Return the functions of all files, by their names."""
    found: dict[str, list[Function]] = {}
    for module in modules:
        for function in module.all(ast.FunctionDef):
            if function.name not in METHODS:
                found.setdefault(function.name, []).append(function)
    return found


def _code(values: Sequence[ast.expr], functions: dict[str, list[Function]]) -> list[ast.AST] | None:
    """Return expressions and the functions they name, and those name; None if one is in doubt."""
    waiting: list[ast.AST] = list(values)
    seen: list[ast.AST] = []
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.append(node)
        named = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        named |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
        for name in named & set(functions):
            if len(functions[name]) > 1:
                return None
            waiting += functions[name]
    return seen


def _read(node: ast.AST) -> set[str]:
    """Return the names that code reads from outside."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    for part in ast.walk(node):
        if isinstance(part, Function | ast.Lambda):
            names -= set(parameters(part))
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.discard(part.id)
    return names


def _is_plain(node: ast.AST, functions: dict[str, list[Function]]) -> bool:
    """Tell whether code only builds: it draws no numbers and changes nothing others see."""
    for part in ast.walk(node):
        if isinstance(part, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom | ast.Await):
            return False
        if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
            return False
    is_builder = isinstance(node, ast.expr) or any(_is_dataset(part) for part in _direct(node))
    return all(
        _is_plain_call(part, functions, is_builder=is_builder)
        for part in _direct(node)
        if isinstance(part, ast.Call)
    )


def _direct(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of code without the bodies of functions that have no name."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        if not isinstance(part, ast.Lambda):
            waiting.extend(ast.iter_child_nodes(part))


def _is_dataset(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and (node.attr in METHODS or "Dataset" in node.attr)


def _is_plain_call(
    call: ast.Call, functions: dict[str, list[Function]], *, is_builder: bool
) -> bool:
    """Tell whether a call gives the same every time.

    What a map's function draws is drawn anew for every element, wherever the map was made. Numbers
    that are drawn while a dataset is built are part of it.
    """
    if not isinstance(call.func, ast.Name | ast.Attribute):
        return False
    path = ast.unparse(call.func)
    root, last = path.split(".")[0], path.split(".")[-1]
    is_tensorflow = root in ("tf", "tensorflow")
    if "random" in path and (is_builder or not is_tensorflow):
        return False
    if isinstance(call.func, ast.Name):
        return last in _PLAIN or last in functions
    return root in _LIBRARIES or last in METHODS or last in functions or not is_builder


def _modules(module: Module) -> set[str]:
    """Return the names that a file imports."""
    imports: list[ast.Import | ast.ImportFrom] = [
        *module.all(ast.Import),
        *module.all(ast.ImportFrom),
    ]
    aliases = [alias for node in imports for alias in node.names]
    return {(alias.asname or alias.name).split(".")[0] for alias in aliases}


def _constants(module: Module, names: set[str]) -> set[str]:
    """Return the names that stand for a number or a text in the whole file."""
    found = set()
    for node in module.all(ast.Name):
        statement = only_binding(module, node) if node.id in names else None
        if statement is not None and isinstance(value_of_statement(statement), ast.Constant):
            found.add(node.id)
    return found


def _gives_anew(module: Module, turn: ast.AST, names: set[str], attributes: set[str]) -> bool:
    """Tell whether a turn gives one of some names, or attributes, another value."""
    changed = [n for n in module.all(ast.Attribute, within=turn) if not isinstance(n.ctx, ast.Load)]
    return any(may_bind(turn, name) for name in names) or any(n.attr in attributes for n in changed)

"""Keeps the tensors of the steps in a list, and takes their values out when the loop is over."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Sequence

from quickfit.findings import FixClass
from quickfit.fixes.bindings import binders, dotted, own_nodes, reads, scope_of, value_of, writes
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.comments import comments_in
from quickfit.fixes.lifetimes import is_read_after
from quickfit.fixes.script import Function, Script
from quickfit.fixes.step_values import (
    counters,
    functions_reached,
    is_reading,
    leaves_function,
    step_tensors,
    waits_for,
)
from quickfit.fixes.turns import unit

TITLE = "Keep the tensors of the steps, and read their values after the loop"
NOTE = "What is kept in the loop is one small tensor per step; the numbers are the same."
# A tensor that is taken as a whole is kept only where it is a single number.
_SINGLE = re.compile(r"loss|cost|acc|err|norm|reward|metric|elbo|kl|mse|mae")


def values_after_loop(script: Script, line: int, scripts: Sequence[Script]) -> Change | None:
    """Move what collects the values of each step behind the loop around a line."""
    loops = [n for n in script.all(ast.For) if n.lineno <= line <= (n.end_lineno or 0)]
    if not loops or loops[-1].orelse or leaves_function(loops[-1]):
        return None
    loop = loops[-1]
    if script.around(loop, ast.Try, ast.AsyncFunctionDef) or not script.is_alone(loop):
        return None  # what stands behind the loop would not run after an error
    tensors = step_tensors(script, loop, scripts)
    late = _late(script, loop, set(tensors), scripts)
    if not late or not any(waits_for(s, tensors) for s in late):
        return None
    if _is_left_between(script, loop, late, tensors):
        return None
    kept = _kept(late, [*sorted(counters(loop)), *tensors])
    edits = _edits(script, loop, late, kept)
    return Change(TITLE, FixClass.SAME_RESULTS, edits, NOTE) if edits is not None else None


def _is_left_between(
    script: Script, loop: ast.For, late: Sequence[ast.stmt], tensors: Iterable[str]
) -> bool:
    """Tell whether a name that is read behind the loop may be newer than what is kept of it."""
    if not any(isinstance(n, ast.Break | ast.Continue) for n in own_nodes(loop)):
        return False
    names = {*tensors, *counters(loop), *writes(*(s for s in late if isinstance(s, ast.Assign)))}
    return any(is_read_after(script, name, [loop]) for name in names)


def _late(
    script: Script, loop: ast.For, tensors: set[str], scripts: Sequence[Script]
) -> list[ast.stmt]:
    """Return the statements of a turn that nothing in the loop needs the effect of."""
    known = tensors | counters(loop)
    late: list[ast.stmt] = []
    for statement in loop.body:
        bound = {name for one in late for name in writes(one) if isinstance(one, ast.Assign)}
        if _can_be_late(script, statement, known, bound):
            late.append(statement)
    while True:
        needed = [s for s in late if _is_needed(script, loop, s, late, scripts)]
        rest = [s for s in late if s not in needed]
        bound = {name for s in rest if isinstance(s, ast.Assign) for name in writes(s)}
        fit = [s for s in rest if _can_be_late(script, s, known, bound)]
        if fit == late:
            break
        late = fit
    return late if any(not isinstance(s, ast.Assign) for s in late) else []


def _can_be_late(script: Script, statement: ast.stmt, tensors: set[str], bound: set[str]) -> bool:
    value, known = _value(statement), tensors | bound
    if (
        value is None
        or not is_reading(value, known)
        or not (waits_for(value, tensors) or reads(value) & bound)
    ):
        return False
    texts = [n for n in ast.walk(statement) if isinstance(n, ast.Constant)]
    is_long = any(isinstance(n.value, str) and n.lineno != n.end_lineno for n in texts)
    return script.is_alone(statement) and not is_long and _is_single(value)


def _value(statement: ast.stmt) -> ast.expr | None:
    """Return what a statement collects: what is appended, added or named."""
    if isinstance(statement, ast.AugAssign):
        is_plain = isinstance(statement.op, ast.Add) and bool(dotted(statement.target))
        return statement.value if is_plain else None
    if isinstance(statement, ast.Assign):
        is_name = len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name)
        return statement.value if is_name else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    is_append = call.func.attr == "append" and len(call.args) == 1 and not call.keywords
    return call.args[0] if is_append and _sink(statement) else None


def _sink(statement: ast.stmt) -> str:
    """Return the name or attribute that a statement changes; nothing where it is unclear."""
    node: ast.expr
    if isinstance(statement, ast.AugAssign):
        node = statement.target
    elif isinstance(statement, ast.Assign):
        node = statement.targets[0]
    else:
        call = statement.value  # type: ignore[attr-defined]
        node = call.func.value
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            node = node.value
    name = dotted(node)
    is_own = name.count(".") == 0 or (name.startswith("self.") and name.count(".") == 1)
    return name if is_own else ""


def _is_needed(
    script: Script,
    loop: ast.For,
    statement: ast.stmt,
    late: Sequence[ast.stmt],
    scripts: Sequence[Script],
) -> bool:
    """Tell whether something in the loop, or what it calls, may see what a statement changes."""
    name = _sink(statement).rpartition(".")[2]
    if not name:
        return True
    others = [s for s in loop.body if s not in late]
    seen = [loop.target, loop.iter, *others, *functions_reached([loop], scripts)]
    inner = [n for s in scripts for n in _generators(s) if n is not scope_of(script, loop)]
    key = _key(statement)
    if any(_mentions(node, name, key) for node in (*seen, *inner)):
        return True
    if isinstance(statement, ast.Assign):
        return len(binders(ast.Module([loop], []), name)) != 1
    is_list = isinstance(statement, ast.Expr)
    return is_list and (not _is_made_as_list(script, name) or _has_alias(script, loop, name))


def _generators(script: Script) -> list[Function]:
    functions = script.all(ast.FunctionDef)
    return [f for f in functions if any(isinstance(n, ast.Yield) for n in ast.walk(f))]


def _key(statement: ast.stmt) -> object:
    """Return the key of `history["loss"].append(...)`; None for other statements."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    holder = call.func.value if isinstance(call, ast.Call) else None  # type: ignore[attr-defined]
    is_item = isinstance(holder, ast.Subscript) and isinstance(holder.slice, ast.Constant)
    return holder.slice.value if is_item else None  # type: ignore[union-attr]


def _mentions(node: ast.AST, name: str, key: object) -> bool:
    """Tell whether code mentions a name, or of a dict any but another item."""
    others = set()
    for item in ast.walk(node) if key is not None else ():
        is_item = isinstance(item, ast.Subscript) and isinstance(item.slice, ast.Constant)
        if is_item and item.slice.value != key:  # type: ignore[attr-defined]
            others.add(item.value)  # type: ignore[attr-defined]
    found = (n for n in ast.walk(node) if n not in others)
    return any(name in (getattr(n, "id", None), getattr(n, "attr", None)) for n in found)


def _is_made_as_list(script: Script, name: str) -> bool:
    """Tell whether the file binds a name or attribute to lists, or dicts of lists, alone."""
    values = []
    for node in ast.walk(script.tree):
        is_name = isinstance(node, ast.Name) and node.id == name
        is_attribute = isinstance(node, ast.Attribute) and node.attr == name
        if (is_name or is_attribute) and isinstance(node.ctx, ast.Store):  # type: ignore[attr-defined]
            values.append(value_of(script, node))
    return bool(values) and all(_is_list(value) for value in values)


def _is_list(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Dict):
        return all(isinstance(one, ast.List) for one in value.values)
    if isinstance(value, ast.Call):
        first = value.args[0] if value.args else None
        is_lists = isinstance(first, ast.Name) and first.id == "list"
        return dotted(value.func).endswith("defaultdict") and is_lists
    return isinstance(value, ast.List)


def _has_alias(script: Script, loop: ast.For, name: str) -> bool:
    """Tell whether something else may hold the list when the loop begins."""
    for node in ast.walk(script.tree):
        if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
            continue
        if getattr(node, "id", None) != name and getattr(node, "attr", None) != name:
            continue
        if node.lineno > (loop.end_lineno or 0) and not script.around(node, ast.Lambda):
            continue
        parent = script.parent(node)
        is_used = isinstance(parent, ast.Subscript | ast.Attribute | ast.Compare)
        is_length = isinstance(parent, ast.Call) and dotted(parent.func) in ("len", "sum", "print")
        if not is_used and not is_length:
            return True
    return False


def _is_single(value: ast.expr) -> bool:
    """Tell whether what is collected is numbers, not tensors of any size."""
    for call in (n for n in ast.walk(value) if isinstance(n, ast.Call)):
        reader = call.func
        is_whole = isinstance(reader, ast.Attribute) and reader.attr == "numpy"
        if is_whole and not _SINGLE.search(ast.unparse(reader).lower()):
            return False
    return True


def _kept(late: Sequence[ast.stmt], known: Sequence[str]) -> list[str]:
    """Return the names whose values of each step the late statements need, in order."""
    return [name for name in known if name in reads(*late)]


def _edits(
    script: Script, loop: ast.For, late: Sequence[ast.stmt], kept: Sequence[str]
) -> tuple[Edit, ...] | None:
    """Return the edits: an empty list, one `append` per turn, and the statements at the end."""
    plural = f"{kept[-1]}es" if kept[-1].endswith("s") else f"{kept[-1]}s"
    name = _new_name(script, f"step_{plural}" if len(kept) == 1 else "step_values")
    made = script.insert_before(loop, f"{name} = []")
    value = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
    if made is None or not name or len(late) == len(loop.body):
        return None
    edits = [made]
    for number, statement in enumerate(late):
        is_last = number == len(late) - 1
        code = f"{name}.append({value})"
        edit = (
            script.replace_statements(statement, statement, code)
            if is_last
            else script.remove(statement)
        )
        if edit is None or len(_comments(script, statement)) > is_last:
            return None  # one behind the last statement can stay there
        edits.append(edit)
    body = "\n".join(_text(script, statement) for statement in late)
    head = f"for {', '.join(kept)} in {name}:"
    behind = script.insert_after(loop, f"{head}\n{textwrap.indent(body, unit(script, late[0]))}")
    return (*edits, behind) if behind is not None else None


def _comments(script: Script, statement: ast.stmt) -> list[str]:
    """Return the comments beside a statement and directly above it."""
    above = script.lines[script.begin(statement)[0] - 2].strip()
    return [*comments_in(script, statement), *([above] if above.startswith("#") else [])]


def _text(script: Script, statement: ast.stmt) -> str:
    """Return the code of a statement without indentation; a comment stays where it was."""
    first, last = script.begin(statement)[0], script.end(statement)[0]
    rows = [*script.lines[first - 1 : last - 1], script.lines[last - 1][: script.end(statement)[1]]]
    return textwrap.dedent("\n".join(rows))


def _new_name(script: Script, name: str) -> str:
    return next((n for n in (name, f"{name}_kept") if not re.search(rf"\b{n}\b", script.text)), "")

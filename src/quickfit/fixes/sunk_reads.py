"""Reads metrics only in the turns that show them, where a loop reads them in every turn."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from quickfit.findings import FixClass
from quickfit.fixes.bindings import (
    binders,
    dotted,
    loops_around,
    parameters,
    reads,
    scope_of,
    writes,
)
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.comments import comments_in
from quickfit.fixes.frozen_layers import calls_of
from quickfit.fixes.lifetimes import is_read_after
from quickfit.fixes.script import Script
from quickfit.fixes.turns import modulo_of, unit

READ = "Read the values only in the turns that show them"
UPDATE = "Update the metrics in a compiled function, and read them only in the turns that show them"
ROUNDING = "The same numbers, computed in one graph: they agree to rounding."
_METHODS = {"result", "numpy", "item"}
_READERS = {"float", "int", "round"}


def reads_where_shown(script: Script, line: int, scripts: Sequence[Script]) -> list[Change]:
    """Return the changes that move readings at a line into the `if` that needs them."""
    loops = [n for n in script.all(ast.For) if n.lineno <= line <= (n.end_lineno or 0)]
    edits = _of_loop(script, loops[-1]) if loops else ()
    if edits:
        return [Change(READ, FixClass.SAME_RESULTS, edits)]
    return _of_function(script, line, scripts)


# -- name = float(metric.result()) in the loop ------------------------------------------------


def _of_loop(script: Script, loop: ast.For) -> tuple[Edit, ...]:
    """Move readings that stand right before the only `if` that needs them into it."""
    for number, shown in enumerate(loop.body):
        if not isinstance(shown, ast.If) or not _is_seldom(shown):
            continue
        moved: list[ast.stmt] = []
        for statement in reversed(loop.body[1:number]):
            if not _is_for_it(script, statement, shown, moved):
                break
            moved.insert(0, statement)
        if any(_waits(s) for s in moved):
            return _moved(script, moved, shown)
    return ()


def _is_seldom(shown: ast.If) -> bool:
    is_counted = modulo_of(shown.test) is not None
    return is_counted and not any(isinstance(n, ast.Call) for n in ast.walk(shown.test))


def _is_for_it(
    script: Script, statement: ast.stmt, shown: ast.If, moved: Sequence[ast.stmt]
) -> bool:
    """Tell whether a statement names a reading that an `if`, and nothing else, needs."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or not is_plain_reading(statement.value):
        return False
    inside = [statement, *moved, *shown.body]
    needs = reads(*moved, *shown.body)
    functions = [f for f in script.all(ast.FunctionDef) if statement not in ast.walk(f)]
    is_elsewhere = target.id in reads(shown.test, *shown.orelse, *functions)
    is_once = len(binders(scope_of(script, statement), target.id)) == 1
    is_alone = script.is_alone(statement) and not comments_in(script, statement)
    if is_elsewhere or not is_once or not is_alone or target.id not in needs:
        return False
    return not is_read_after(script, target.id, inside)


def is_plain_reading(value: ast.expr) -> bool:
    """Tell whether an expression only takes values out of metrics and tensors."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            is_method = isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS
            if not is_method and dotted(node.func) not in _READERS:
                return False
        if isinstance(node, ast.Await | ast.Yield | ast.NamedExpr | ast.Lambda | ast.JoinedStr):
            return False
    return True


def _waits(node: ast.AST) -> bool:
    calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    return any(dotted(c) == "float" or getattr(c, "attr", "") in ("result", "numpy") for c in calls)


def _moved(script: Script, moved: Sequence[ast.stmt], shown: ast.If) -> tuple[Edit, ...]:
    code = "\n".join(script.code(statement) for statement in moved)
    made = script.insert_before(shown.body[0], code)
    taken = [script.remove(statement) for statement in moved]
    has_more = any("\n" in script.code(statement) for statement in moved)
    above = [script.lines[script.begin(s)[0] - 2].strip() for s in moved]
    if made is None or has_more or None in taken or any(a.startswith("#") for a in above):
        return ()
    return (*(edit for edit in taken if edit is not None), made)


# -- a function that updates and reads --------------------------------------------------------


@dataclass(frozen=True)
class Read:
    """A reading in a function, `shown[metric.name] = float(metric.result())`, and its loop."""

    function: ast.FunctionDef
    loop: ast.For
    statement: ast.Assign
    place: str


def _of_function(script: Script, line: int, scripts: Sequence[Script]) -> list[Change]:
    found = _read_at(script, line, scripts)
    calls = [(s, c) for s in scripts for c in calls_of(s, found.function.name)] if found else []
    if found is None or len(calls) != 1 or calls[0][0] is not script:
        return []
    if any(_mentions(other, found.place) for other in scripts if other is not script):
        return []
    shown = _shown_by(script, calls[0][1], found)
    if shown is None or not _is_visible(script, found, shown):
        return []
    taken = script.remove(found.statement)
    head = f"for {script.code(found.loop.target)} in {script.code(found.loop.iter)}:"
    body = textwrap.indent(script.code(found.statement), unit(script, shown.body[0]))
    made = script.insert_before(shown.body[0], f"{head}\n{body}")
    if taken is None or made is None or comments_in(script, found.statement):
        return []
    compiled = _compiled(script, found)
    both = [Change(UPDATE, FixClass.EQUIVALENT, (*compiled, taken, made), ROUNDING)]
    return [*(both if compiled else []), Change(READ, FixClass.SAME_RESULTS, (taken, made))]


def _read_at(script: Script, line: int, scripts: Sequence[Script]) -> Read | None:
    """Return the reading in a function whose loop goes over metrics and does nothing else."""
    functions = [f for f in script.all(ast.FunctionDef) if f.lineno <= line <= (f.end_lineno or 0)]
    function = functions[-1] if functions else None
    loop = function.body[-1] if function is not None and len(function.body) == 1 else None
    if function is None or not isinstance(loop, ast.For) or loop.orelse:
        return None
    if function.decorator_list or isinstance(script.parent(function), ast.ClassDef):
        return None
    *updates, last = loop.body
    if not updates or not all(is_update(u) for u in updates) or not isinstance(last, ast.Assign):
        return None
    target = last.targets[0]
    is_kept = isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
    is_plain = isinstance(loop.iter, ast.Name) and isinstance(loop.target, ast.Name)
    if not is_kept or not is_plain or len(last.targets) > 1 or not _waits(last.value):
        return None
    assert isinstance(target, ast.Subscript)
    assert isinstance(target.value, ast.Name)
    own = reads(last) - {target.value.id, loop.target.id, *_READERS}  # type: ignore[attr-defined]
    if own or not is_plain_reading(last.value) or "\n" in script.code(last):
        return None
    return Read(function, loop, last, target.value.id)


def is_update(statement: ast.stmt) -> bool:
    """Tell whether a statement is `metric.update_state(...)` with names as arguments."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    is_plain = all(isinstance(value, ast.Name) for value in call.args) and not call.keywords
    return call.func.attr == "update_state" and isinstance(call.func.value, ast.Name) and is_plain


def _shown_by(script: Script, call: ast.Call, found: Read) -> ast.If | None:
    """Return the `if` right behind a call in a loop, which alone looks at the readings."""
    statement = script.statement(call)
    loop = script.parent(statement)
    if not isinstance(loop, ast.For) or not isinstance(statement, ast.Expr):
        return None
    behind = loop.body[loop.body.index(statement) + 1 :]
    shown = behind[0] if behind else None
    if statement.value is not call or not isinstance(shown, ast.If) or not _is_seldom(shown):
        return None
    inside = {n for s in shown.body for n in ast.walk(s)} | set(ast.walk(found.statement))
    uses = [n for n in script.all(ast.Name) if n.id == found.place and n not in inside]
    made = [n for n in uses if isinstance(n.ctx, ast.Store)]
    is_only = len(uses) == len(made) == 1 and not loops_around(script, made[0])
    return shown if is_only and _is_empty_dict(script, made[0]) else None


def _mentions(script: Script, name: str) -> bool:
    keys = ("id", "attr", "name")
    return any(name == getattr(n, key, None) for n in ast.walk(script.tree) for key in keys)


def _is_empty_dict(script: Script, name: ast.Name) -> bool:
    statement = script.parent(name)
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Dict) and not value.keys


def _is_visible(script: Script, found: Read, shown: ast.If) -> bool:
    """Tell whether the metrics have the same names where the readings go."""
    assert isinstance(found.loop.iter, ast.Name)
    assert isinstance(found.loop.target, ast.Name)
    outer, metric = scope_of(script, shown), found.loop.target.id
    for name in (found.loop.iter.id, found.place):
        if name in writes(*found.function.body) | set(parameters(found.function)):
            return False
        own = writes(*outer.body) if outer is not script.tree else set()
        if name in own or len(binders(script.tree, name)) != 1:
            return False
    inner = [n for n in ast.walk(outer) if isinstance(n, ast.Name) and n.id == metric]
    loops = [n for n in ast.walk(outer) if isinstance(n, ast.For) and metric in writes(n.target)]
    covered = {n for one in loops for n in ast.walk(one)}
    return all(n in covered or scope_of(script, n) is not outer for n in inner)


def _compiled(script: Script, found: Read) -> tuple[Edit, ...]:
    """Return the edits that compile a function that then only updates metrics."""
    alias, imports = script.import_of("tensorflow", "tf")
    given = {n.id for s in found.loop.body[:-1] for n in ast.walk(s) if isinstance(n, ast.Name)}
    own = {*parameters(found.function), *writes(found.loop.target)}
    if imports or given - own:
        return ()
    return (script.decorate(found.function, f"@{alias}.function"),)

"""Shows the values of every 50th step where a loop shows those of each."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from quickfit.findings import FixClass
from quickfit.fixes.bindings import dotted, imported, reads
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.lifetimes import is_read_after
from quickfit.fixes.script import Script
from quickfit.fixes.step_values import counters, step_tensors, waits_for
from quickfit.fixes.turns import under

EVERY = 50
TITLE = f"Show the values of every {EVERY}th step only"
NOTE = "The training is the same; fewer lines, or updates of the progress bar, are shown."
_BARS = {"set_postfix", "set_postfix_str", "set_description", "set_description_str"}
_LOGS = {"info", "debug"}
_METHODS = {"numpy", "item", "result", "format", "time", "perf_counter"}
_READERS = {"float", "int", "str", "round", "len"}
_COUNTERS = ("step", "step_number", "batch_number")


def seldom_shown(script: Script, line: int, scripts: Sequence[Script]) -> Change | None:
    """Put what shows values in the loop around a line under an `if`."""
    loops = [n for n in script.all(ast.For) if n.lineno <= line <= (n.end_lineno or 0)]
    if not loops or loops[-1].orelse:
        return None
    loop = loops[-1]
    tensors = set(step_tensors(script, loop, scripts))
    groups = _groups(script, loop, tensors)
    counted = _counted(script, loop) if len(groups) == 1 else None
    if counted is None:
        return None
    test, edits = counted
    guarded = under(script, groups[0], test)
    if guarded is None:
        return None
    return Change(TITLE, FixClass.EQUIVALENT, (*edits, guarded), NOTE)


def _groups(script: Script, loop: ast.For, tensors: set[str]) -> list[list[ast.stmt]]:
    """Return the statements of a turn that only show values, those side by side together."""
    groups: list[list[ast.stmt]] = []
    for number, statement in enumerate(loop.body):
        names = _shown_names(script, loop, number, tensors)
        if not is_showing(script, statement) or names is None:
            continue
        group = [*loop.body[number - len(names) : number], statement]
        if groups and loop.body.index(groups[-1][-1]) + 1 == number - len(names):
            groups[-1] += group
        else:
            groups.append(group)
    return groups


def _shown_names(script: Script, loop: ast.For, number: int, tensors: set[str]) -> list[str] | None:
    """Return the names made right before a statement for it alone; None where it never waits."""
    names: list[str] = []
    shown = loop.body[number]
    for statement in reversed(loop.body[:number]):
        name = _only_reads(statement, tensors)
        inside = [*loop.body[number - len(names) - 1 : number + 1]]
        if not name or name not in reads(*inside[1:]) or is_read_after(script, name, inside):
            break
        names.append(name)
    made = loop.body[number - len(names) : number]
    return names if any(_waits(one, tensors) for one in (*made, shown)) else None


def _only_reads(statement: ast.stmt, tensors: set[str]) -> str:
    """Return the name of `name = float(loss)`, which nothing but reading stands in."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target = statement.targets[0]
    is_plain = _has_plain_calls(statement.value) and _waits(statement, tensors)
    return target.id if isinstance(target, ast.Name) and is_plain else ""


def _has_plain_calls(value: ast.AST) -> bool:
    """Tell whether code calls nothing that changes anything."""
    for node in ast.walk(value):
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.Lambda):
            return False
        if isinstance(node, ast.Call):
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if method not in _METHODS and dotted(node.func) not in _READERS:
                return False
    return True


def _waits(statement: ast.AST, tensors: set[str]) -> bool:
    """Tell whether code takes a number out of a tensor or of a metric."""
    attributes = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
    is_result = any(
        isinstance(c.func, ast.Attribute) and c.func.attr == "result" and not c.args
        for c in attributes
    )
    return is_result or waits_for(statement, tensors)


def is_showing(script: Script, statement: ast.stmt) -> bool:
    """Tell whether a statement prints, or sets the text of a progress bar, and no more."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    given = [*call.args, *(k.value for k in call.keywords)]
    if not all(_has_plain_calls(value) for value in given):
        return False
    name = dotted(call.func)
    owner, _, last = name.rpartition(".")
    if name == "print":
        return not any(k.arg == "file" for k in call.keywords)
    is_log = last in _LOGS and (imported(script, owner) == "logging" or "log" in owner.lower())
    return bool(owner) and (last in _BARS or is_log)


def _counted(script: Script, loop: ast.For) -> tuple[str, tuple[Edit, ...]] | None:
    """Return the test for every 50th turn, and the edits that count the turns where none do."""
    known = [name for name in counters(loop) if name.strip("_")]
    if known:
        return f"{known[0]} % {EVERY} == 0", ()
    call, target = loop.iter, loop.target
    if isinstance(call, ast.Call) and dotted(call.func) in ("enumerate", "range"):
        return None  # it counts under a name that means nothing, or changes
    name = next((n for n in _COUNTERS if n not in _all(script)), "")
    code = script.code(target)
    if isinstance(target, ast.Tuple) and not code.startswith("("):
        code = f"({code})"
    counted = f"enumerate({script.code(call)})"
    edits = (script.replace(target, f"{name}, {code}"), script.replace(call, counted))
    return (f"{name} % {EVERY} == 0", edits) if name else None


def _all(script: Script) -> set[str]:
    return {n.id for n in script.all(ast.Name)} | {n.arg for n in script.all(ast.arg)}

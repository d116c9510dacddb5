"""Takes metrics out of the turns of a loop: updated in the compiled step, read when it is over."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

from quickfit.findings import FixClass
from quickfit.fixes.bindings import binders, dotted, imported, reads, scope_of, writes
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.graph_code import GraphCode, argument
from quickfit.fixes.script import Script
from quickfit.fixes.text_edits import rewritten

READ = "Read the metrics once, after the loop"
UPDATE = "Update the metrics in the compiled step, and read them after the loop"
ROUNDING = "The same numbers, computed in one graph with the step: they agree to rounding."
_READERS = {"float", "int", "str", "round", "dict", "list", "tuple"}
_METHODS = {"result", "numpy", "item", "format"}


def metrics_out_of_loop(script: Script, line: int, scripts: Sequence[Script]) -> list[Change]:
    """Return the changes that take the metrics at a line out of the loop around it."""
    loops = [n for n in script.all(ast.For) if n.lineno <= line <= (n.end_lineno or 0)]
    if not loops or loops[-1].orelse or _leaves_early(loops[-1]):
        return []
    moved = _last_reads(script, loops[-1])
    after = _after_loop(script, loops[-1], moved) if moved else ()
    if after is None:
        return []
    updates = _updates(script, loops[-1], scripts)
    found = []
    if updates:
        found.append(Change(UPDATE, FixClass.EQUIVALENT, (*updates, *after), ROUNDING))
    if after:
        found.append(Change(READ, FixClass.SAME_RESULTS, after))
    return found


def _leaves_early(loop: ast.For) -> bool:
    """Tell whether the end of a turn may be skipped."""
    return any(
        isinstance(n, ast.Break | ast.Continue | ast.Return | ast.Yield) for n in ast.walk(loop)
    )


def _last_reads(script: Script, loop: ast.For) -> list[ast.stmt]:
    """Return the statements at the end of a turn that only read, and that no turn needs."""
    found: list[ast.stmt] = []
    for statement in reversed(loop.body[1:]):
        if not isinstance(statement, ast.Assign) or not _is_reading(statement.value):
            break
        rest = [s for s in loop.body if s is not statement and s not in found]
        names = writes(*statement.targets)
        is_plain = all(isinstance(t, ast.Name) for t in statement.targets)
        is_plain = is_plain and not names & _read_elsewhere(script, loop)
        if not is_plain or names & (reads(*rest) | writes(*rest) | reads(statement.value)):
            break
        found.insert(0, statement)
    waits = any(_waits(s) for s in found)
    return found if waits and all(script.is_alone(s) for s in found) else []


def _read_elsewhere(script: Script, loop: ast.For) -> set[str]:
    """Return the names that functions read which a turn of a loop may call."""
    functions = [f for f in script.all(ast.FunctionDef) if loop not in ast.walk(f)]
    return reads(*functions, *script.all(ast.Lambda))


def _is_reading(value: ast.expr) -> bool:
    """Tell whether an expression only takes values out of metrics and tensors."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            name = dotted(node.func).rpartition(".")[2]
            is_method = isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS
            if not is_method and not (isinstance(node.func, ast.Name) and name in _READERS):
                return False
        if isinstance(node, ast.Await | ast.Yield | ast.NamedExpr | ast.Lambda):
            return False
    return True


def _waits(statement: ast.stmt) -> bool:
    calls = (n.func for n in ast.walk(statement) if isinstance(n, ast.Call))
    return any(dotted(c) == "float" or getattr(c, "attr", "") in ("result", "numpy") for c in calls)


def _after_loop(
    script: Script, loop: ast.For, moved: Sequence[ast.stmt]
) -> tuple[Edit, ...] | None:
    """Move statements behind their loop, as they are."""
    texts = [n for s in moved for n in ast.walk(s) if isinstance(n, ast.Constant)]
    if any(isinstance(n.value, str) and n.lineno != n.end_lineno for n in texts):
        return None
    first, last = script.begin(moved[0])[0], script.end(moved[-1])[0]
    text = textwrap.dedent("\n".join(script.lines[first - 1 : last]))
    inner, outer = script.indent(moved[0]), script.indent(loop)
    if len(inner) <= len(outer) or len(moved) >= len(loop.body) or last != script.end(loop)[0]:
        return None
    # The statements are the end of the loop: with less white space they stand behind it.
    moved_text = textwrap.indent(text, outer)
    return (Edit(script.file, (first, 0), (last, len(script.lines[last - 1])), moved_text),)


# -- updates ----------------------------------------------------------------------------------


def _updates(script: Script, loop: ast.For, scripts: Sequence[Script]) -> tuple[Edit, ...]:
    """Return the edits that move `metric.update_state(...)` into the step before it."""
    for number, statement in enumerate(loop.body):
        call = statement.value if isinstance(statement, ast.Assign) else None
        step = _step(script, call, scripts) if isinstance(call, ast.Call) else None
        if step is None or not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call):
            continue
        updates = []
        for follower in loop.body[number + 1 :]:
            if not _is_update(follower):
                break
            updates.append(follower)
        names = _names_inside(script, statement, call, step)
        return _moved_updates(script, step, updates, names)
    return ()


def _step(script: Script, call: ast.Call, scripts: Sequence[Script]) -> ast.FunctionDef | None:
    """Return the compiled function that a call runs, where nothing else calls it."""
    found = [n for n in script.all(ast.FunctionDef) if n.name == dotted(call.func)]
    if len(found) != 1 or len(found[0].decorator_list) != 1:
        return None
    decorator = found[0].decorator_list[0]
    compiler = decorator.func if isinstance(decorator, ast.Call) else decorator
    used = [n for s in scripts for n in s.all(ast.Name) if n.id == found[0].name]
    returned = [n for n in ast.walk(found[0]) if isinstance(n, ast.Return)]
    is_last = len(returned) == 1 and found[0].body[-1] is returned[0]
    is_compiled = imported(script, dotted(compiler)) == "tensorflow.function"
    return found[0] if is_compiled and is_last and len(used) == 1 else None


def _is_update(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    is_plain = all(isinstance(value, ast.Name) for value in call.args) and not call.keywords
    return call.func.attr == "update_state" and isinstance(call.func.value, ast.Name) and is_plain


def _names_inside(
    script: Script, statement: ast.Assign, call: ast.Call, step: ast.FunctionDef
) -> dict[str, str]:
    """Return what the loop's names are called inside the step."""
    names: dict[str, str] = {}
    for parameter in (a.arg for a in step.args.args):
        given = argument(call, step, parameter)
        if isinstance(given, ast.Name):
            names[given.id] = parameter
    returned = step.body[-1].value if isinstance(step.body[-1], ast.Return) else None
    target = statement.targets[0]
    pairs = (
        zip(target.elts, returned.elts, strict=False)
        if isinstance(target, ast.Tuple) and isinstance(returned, ast.Tuple)
        else [(target, returned)]
    )
    for outside, inside in pairs:
        if isinstance(outside, ast.Name):
            names.pop(outside.id, None)
            if isinstance(inside, ast.Name):
                names[outside.id] = inside.id
    rebound = {n for n in names.values() if len(binders(step, n)) > 1}
    return {outside: inside for outside, inside in names.items() if inside not in rebound}


def _moved_updates(
    script: Script,
    step: ast.FunctionDef,
    updates: Sequence[ast.stmt],
    names: dict[str, str],
) -> tuple[Edit, ...]:
    code = GraphCode([script])
    lines, edits = [], []
    for update in updates:
        call = update.value if isinstance(update, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return ()
        metric = call.func.value
        is_known = all(isinstance(v, ast.Name) and v.id in names for v in call.args)
        if not is_known or not isinstance(metric, ast.Name):
            return ()
        if not code.is_steady_name(script, metric) or not _is_seen(script, step, metric):
            return ()
        inside: dict[ast.expr, str] = {}
        for value in call.args:
            inside[value] = names[dotted(value)]
        lines.append(rewritten(script, call, inside))
        removed = script.remove(update)
        if removed is None:
            return ()
        edits.append(removed)
    added = script.insert_before(step.body[-1], "\n".join(lines)) if lines else None
    return (added, *edits) if added is not None else ()


def _is_seen(script: Script, step: ast.FunctionDef, metric: ast.Name) -> bool:
    """Tell whether a metric has the same name inside the step."""
    around = scope_of(script, step)
    own = writes(*step.body) | {a.arg for a in step.args.args}
    is_made = bool(binders(around, metric.id)) or bool(binders(script.tree, metric.id))
    return metric.id not in own and is_made and scope_of(script, metric) in (around, script.tree)

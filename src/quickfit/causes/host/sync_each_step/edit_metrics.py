"""Reads metrics only where they are shown, or updates them in the compiled step."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from quickfit.code.compiled_functions import calls_of
from quickfit.code.edits import code_with_replaced
from quickfit.code.graph_code import GraphCode, argument_for_parameter
from quickfit.code.loops import indent_unit, modulo_of
from quickfit.code.module import Module
from quickfit.code.scopes import (
    binders,
    dotted,
    import_path,
    is_read_after,
    loops_around,
    parameters,
    reads,
    scope_of,
    writes,
)
from quickfit.findings import Change, Edit, FixClass

READ_WHERE_SHOWN = "Read the values only in the turns that show them"
UPDATE_COMPILED = (
    "Update the metrics in a compiled function, and read them only in the turns that show them"
)
ROUNDING_COMPILED = "The same numbers, computed in one graph: they agree to rounding."
_METHODS = {"result", "numpy", "item"}
_READERS = {"float", "int", "round"}


def reads_where_shown(module: Module, line: int, modules: Sequence[Module]) -> list[Change]:
    """Return the changes that move readings at a line into the `if` that needs them."""
    loops = [n for n in module.all(ast.For) if n.lineno <= line <= (n.end_lineno or 0)]
    edits = _of_loop(module, loops[-1]) if loops else ()
    if edits:
        return [Change(READ_WHERE_SHOWN, FixClass.SAME_RESULTS, edits)]
    return _of_function(module, line, modules)


# -- name = float(metric.result()) in the loop ------------------------------------------------


def _of_loop(module: Module, loop: ast.For) -> tuple[Edit, ...]:
    """Move readings that stand right before the only `if` that needs them into it."""
    for number, shown in enumerate(loop.body):
        if not isinstance(shown, ast.If) or not _is_seldom(shown):
            continue
        moved: list[ast.stmt] = []
        for statement in reversed(loop.body[1:number]):
            if not _is_for_it(module, statement, shown, moved):
                break
            moved.insert(0, statement)
        if any(_waits(s) for s in moved):
            return _moved(module, moved, shown)
    return ()


def _is_seldom(shown: ast.If) -> bool:
    is_counted = modulo_of(shown.test) is not None
    return is_counted and not any(isinstance(n, ast.Call) for n in ast.walk(shown.test))


def _is_for_it(
    module: Module, statement: ast.stmt, shown: ast.If, moved: Sequence[ast.stmt]
) -> bool:
    """Tell whether a statement names a reading that an `if`, and nothing else, needs."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or not is_plain_reading(statement.value):
        return False
    inside = [statement, *moved, *shown.body]
    needs = reads(*moved, *shown.body)
    functions = [f for f in module.all(ast.FunctionDef) if statement not in ast.walk(f)]
    is_elsewhere = target.id in reads(shown.test, *shown.orelse, *functions)
    is_once = len(binders(scope_of(module, statement), target.id)) == 1
    is_alone = module.is_alone(statement) and not module.comments_in(statement)
    if is_elsewhere or not is_once or not is_alone or target.id not in needs:
        return False
    return not is_read_after(module, target.id, inside)


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


def _moved(module: Module, moved: Sequence[ast.stmt], shown: ast.If) -> tuple[Edit, ...]:
    code = "\n".join(module.code(statement) for statement in moved)
    made = module.insert_before(shown.body[0], code)
    taken = [module.remove(statement) for statement in moved]
    has_more = any("\n" in module.code(statement) for statement in moved)
    above = [module.lines[module.begin(s)[0] - 2].strip() for s in moved]
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


def _of_function(module: Module, line: int, modules: Sequence[Module]) -> list[Change]:
    found = _read_at(module, line, modules)
    calls = [(s, c) for s in modules for c in calls_of(s, found.function.name)] if found else []
    if found is None or len(calls) != 1 or calls[0][0] is not module:
        return []
    if any(_mentions(other, found.place) for other in modules if other is not module):
        return []
    shown = _shown_by(module, calls[0][1], found)
    if shown is None or not _is_visible(module, found, shown):
        return []
    taken = module.remove(found.statement)
    head = f"for {module.code(found.loop.target)} in {module.code(found.loop.iter)}:"
    body = textwrap.indent(module.code(found.statement), indent_unit(module, shown.body[0]))
    made = module.insert_before(shown.body[0], f"{head}\n{body}")
    if taken is None or made is None or module.comments_in(found.statement):
        return []
    compiled = _compiled(module, found)
    both = [
        Change(UPDATE_COMPILED, FixClass.EQUIVALENT, (*compiled, taken, made), ROUNDING_COMPILED)
    ]
    return [
        *(both if compiled else []),
        Change(READ_WHERE_SHOWN, FixClass.SAME_RESULTS, (taken, made)),
    ]


def _read_at(module: Module, line: int, modules: Sequence[Module]) -> Read | None:
    """Return the reading in a function whose loop goes over metrics and does nothing else."""
    functions = [f for f in module.all(ast.FunctionDef) if f.lineno <= line <= (f.end_lineno or 0)]
    function = functions[-1] if functions else None
    loop = function.body[-1] if function is not None and len(function.body) == 1 else None
    if function is None or not isinstance(loop, ast.For) or loop.orelse:
        return None
    if function.decorator_list or isinstance(module.parent(function), ast.ClassDef):
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
    if own or not is_plain_reading(last.value) or "\n" in module.code(last):
        return None
    return Read(function, loop, last, target.value.id)


def is_update(statement: ast.stmt) -> bool:
    """Tell whether a statement is `metric.update_state(...)` with names as arguments."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    is_plain = all(isinstance(value, ast.Name) for value in call.args) and not call.keywords
    return call.func.attr == "update_state" and isinstance(call.func.value, ast.Name) and is_plain


def _shown_by(module: Module, call: ast.Call, found: Read) -> ast.If | None:
    """Return the `if` right behind a call in a loop, which alone looks at the readings."""
    statement = module.statement(call)
    loop = module.parent(statement)
    if not isinstance(loop, ast.For) or not isinstance(statement, ast.Expr):
        return None
    behind = loop.body[loop.body.index(statement) + 1 :]
    shown = behind[0] if behind else None
    if statement.value is not call or not isinstance(shown, ast.If) or not _is_seldom(shown):
        return None
    inside = {n for s in shown.body for n in ast.walk(s)} | set(ast.walk(found.statement))
    uses = [n for n in module.all(ast.Name) if n.id == found.place and n not in inside]
    made = [n for n in uses if isinstance(n.ctx, ast.Store)]
    is_only = len(uses) == len(made) == 1 and not loops_around(module, made[0])
    return shown if is_only and _is_empty_dict(module, made[0]) else None


def _mentions(module: Module, name: str) -> bool:
    keys = ("id", "attr", "name")
    return any(name == getattr(n, key, None) for n in ast.walk(module.tree) for key in keys)


def _is_empty_dict(module: Module, name: ast.Name) -> bool:
    statement = module.parent(name)
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Dict) and not value.keys


def _is_visible(module: Module, found: Read, shown: ast.If) -> bool:
    """Tell whether the metrics have the same names where the readings go."""
    assert isinstance(found.loop.iter, ast.Name)
    assert isinstance(found.loop.target, ast.Name)
    outer, metric = scope_of(module, shown), found.loop.target.id
    for name in (found.loop.iter.id, found.place):
        if name in writes(*found.function.body) | set(parameters(found.function)):
            return False
        own = writes(*outer.body) if outer is not module.tree else set()
        if name in own or len(binders(module.tree, name)) != 1:
            return False
    inner = [n for n in ast.walk(outer) if isinstance(n, ast.Name) and n.id == metric]
    loops = [n for n in ast.walk(outer) if isinstance(n, ast.For) and metric in writes(n.target)]
    covered = {n for one in loops for n in ast.walk(one)}
    return all(n in covered or scope_of(module, n) is not outer for n in inner)


def _compiled(module: Module, found: Read) -> tuple[Edit, ...]:
    """Return the edits that compile a function that then only updates metrics."""
    alias, imports = module.import_of("tensorflow", "tf")
    given = {n.id for s in found.loop.body[:-1] for n in ast.walk(s) if isinstance(n, ast.Name)}
    own = {*parameters(found.function), *writes(found.loop.target)}
    if imports or given - own:
        return ()
    return (module.decorate(found.function, f"@{alias}.function"),)


READ_AFTER_LOOP = "Read the metrics once, after the loop"
UPDATE_IN_STEP = "Update the metrics in the compiled step, and read them after the loop"
ROUNDING_IN_STEP = "The same numbers, computed in one graph with the step: they agree to rounding."
_READERS_AFTER_LOOP = {"float", "int", "str", "round", "dict", "list", "tuple"}
_METHODS_AFTER_LOOP = {"result", "numpy", "item", "format"}


def metrics_out_of_loop(module: Module, line: int, modules: Sequence[Module]) -> list[Change]:
    """Return the changes that take the metrics at a line out of the loop around it."""
    loops = [n for n in module.all(ast.For) if n.lineno <= line <= (n.end_lineno or 0)]
    if not loops or loops[-1].orelse or _leaves_early(loops[-1]):
        return []
    moved = _last_reads(module, loops[-1])
    after = _after_loop(module, loops[-1], moved) if moved else ()
    if after is None:
        return []
    updates = _updates(module, loops[-1], modules)
    found = []
    if updates:
        found.append(
            Change(UPDATE_IN_STEP, FixClass.EQUIVALENT, (*updates, *after), ROUNDING_IN_STEP)
        )
    if after:
        found.append(Change(READ_AFTER_LOOP, FixClass.SAME_RESULTS, after))
    return found


def _leaves_early(loop: ast.For) -> bool:
    """Tell whether the end of a turn may be skipped."""
    return any(
        isinstance(n, ast.Break | ast.Continue | ast.Return | ast.Yield) for n in ast.walk(loop)
    )


def _last_reads(module: Module, loop: ast.For) -> list[ast.stmt]:
    """Return the statements at the end of a turn that only read, and that no turn needs."""
    found: list[ast.stmt] = []
    for statement in reversed(loop.body[1:]):
        if not isinstance(statement, ast.Assign) or not _is_reading(statement.value):
            break
        rest = [s for s in loop.body if s is not statement and s not in found]
        names = writes(*statement.targets)
        is_plain = all(isinstance(t, ast.Name) for t in statement.targets)
        is_plain = is_plain and not names & _read_elsewhere(module, loop)
        if not is_plain or names & (reads(*rest) | writes(*rest) | reads(statement.value)):
            break
        found.insert(0, statement)
    waits = any(_waits_in_loop(s) for s in found)
    return found if waits and all(module.is_alone(s) for s in found) else []


def _read_elsewhere(module: Module, loop: ast.For) -> set[str]:
    """Return the names that functions read which a turn of a loop may call."""
    functions = [f for f in module.all(ast.FunctionDef) if loop not in ast.walk(f)]
    return reads(*functions, *module.all(ast.Lambda))


def _is_reading(value: ast.expr) -> bool:
    """Tell whether an expression only takes values out of metrics and tensors."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            name = dotted(node.func).rpartition(".")[2]
            is_method = (
                isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS_AFTER_LOOP
            )
            if not is_method and not (
                isinstance(node.func, ast.Name) and name in _READERS_AFTER_LOOP
            ):
                return False
        if isinstance(node, ast.Await | ast.Yield | ast.NamedExpr | ast.Lambda):
            return False
    return True


def _waits_in_loop(statement: ast.stmt) -> bool:
    calls = (n.func for n in ast.walk(statement) if isinstance(n, ast.Call))
    return any(dotted(c) == "float" or getattr(c, "attr", "") in ("result", "numpy") for c in calls)


def _after_loop(
    module: Module, loop: ast.For, moved: Sequence[ast.stmt]
) -> tuple[Edit, ...] | None:
    """Move statements behind their loop, as they are."""
    texts = [n for s in moved for n in ast.walk(s) if isinstance(n, ast.Constant)]
    if any(isinstance(n.value, str) and n.lineno != n.end_lineno for n in texts):
        return None
    first, last = module.begin(moved[0])[0], module.end(moved[-1])[0]
    text = textwrap.dedent("\n".join(module.lines[first - 1 : last]))
    inner, outer = module.indent(moved[0]), module.indent(loop)
    if len(inner) <= len(outer) or len(moved) >= len(loop.body) or last != module.end(loop)[0]:
        return None
    # The statements are the end of the loop: with less white space they stand behind it.
    moved_text = textwrap.indent(text, outer)
    return (Edit(module.path, (first, 0), (last, len(module.lines[last - 1])), moved_text),)


# -- updates ----------------------------------------------------------------------------------


def _updates(module: Module, loop: ast.For, modules: Sequence[Module]) -> tuple[Edit, ...]:
    """Return the edits that move `metric.update_state(...)` into the step before it."""
    for number, statement in enumerate(loop.body):
        call = statement.value if isinstance(statement, ast.Assign) else None
        step = _step(module, call, modules) if isinstance(call, ast.Call) else None
        if step is None or not isinstance(statement, ast.Assign) or not isinstance(call, ast.Call):
            continue
        updates = []
        for follower in loop.body[number + 1 :]:
            if not is_update(follower):
                break
            updates.append(follower)
        names = _names_inside(module, statement, call, step)
        return _moved_updates(module, step, updates, names)
    return ()


def _step(module: Module, call: ast.Call, modules: Sequence[Module]) -> ast.FunctionDef | None:
    """Return the compiled function that a call runs, where nothing else calls it."""
    found = [n for n in module.all(ast.FunctionDef) if n.name == dotted(call.func)]
    if len(found) != 1 or len(found[0].decorator_list) != 1:
        return None
    decorator = found[0].decorator_list[0]
    compiler = decorator.func if isinstance(decorator, ast.Call) else decorator
    used = [n for s in modules for n in s.all(ast.Name) if n.id == found[0].name]
    returned = [n for n in ast.walk(found[0]) if isinstance(n, ast.Return)]
    is_last = len(returned) == 1 and found[0].body[-1] is returned[0]
    is_compiled = import_path(module, dotted(compiler)) == "tensorflow.function"
    return found[0] if is_compiled and is_last and len(used) == 1 else None


def _names_inside(
    module: Module, statement: ast.Assign, call: ast.Call, step: ast.FunctionDef
) -> dict[str, str]:
    """Return what the loop's names are called inside the step."""
    names: dict[str, str] = {}
    for parameter in (a.arg for a in step.args.args):
        given = argument_for_parameter(call, step, parameter)
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
    module: Module,
    step: ast.FunctionDef,
    updates: Sequence[ast.stmt],
    names: dict[str, str],
) -> tuple[Edit, ...]:
    code = GraphCode([module])
    lines, edits = [], []
    for update in updates:
        call = update.value if isinstance(update, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return ()
        metric = call.func.value
        is_known = all(isinstance(v, ast.Name) and v.id in names for v in call.args)
        if not is_known or not isinstance(metric, ast.Name):
            return ()
        if not code.is_steady_name(module, metric) or not _is_seen(module, step, metric):
            return ()
        inside: dict[ast.expr, str] = {}
        for value in call.args:
            inside[value] = names[dotted(value)]
        lines.append(code_with_replaced(module, call, inside))
        removed = module.remove(update)
        if removed is None:
            return ()
        edits.append(removed)
    added = module.insert_before(step.body[-1], "\n".join(lines)) if lines else None
    return (added, *edits) if added is not None else ()


def _is_seen(module: Module, step: ast.FunctionDef, metric: ast.Name) -> bool:
    """Tell whether a metric has the same name inside the step."""
    around = scope_of(module, step)
    own = writes(*step.body) | {a.arg for a in step.args.args}
    is_made = bool(binders(around, metric.id)) or bool(binders(module.tree, metric.id))
    return metric.id not in own and is_made and scope_of(module, metric) in (around, module.tree)

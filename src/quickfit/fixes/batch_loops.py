"""Turns a loop around `train_on_batch` into `fit` with the same batches in the same order."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quickfit.findings import FixClass
from quickfit.fixes.batch_results import Results, results_of
from quickfit.fixes.batch_slices import Batches, assigned, batches_of
from quickfit.fixes.bindings import dotted, only_value, reads, scope_of, writes
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.comments import comments_in
from quickfit.fixes.dataset_names import is_dataset, is_shuffled
from quickfit.fixes.hoisting import placed
from quickfit.fixes.lifetimes import is_read_after
from quickfit.fixes.script import Script
from quickfit.fixes.text_edits import call_code, rewritten

MEAN = "What is printed is then the mean of an epoch, as `fit` computes it, not the last batch's."
ROUNDING = "The same batches in the same order; weights agree to rounding."
ORDER = "The dataset shuffles in another order than before."
_OWN = {"fit", "train_on_batch"}
PER_EPOCH, ALL = "Give each epoch to `fit` at once", "Give all epochs to one `fit`"


@dataclass(frozen=True)
class Trained:
    """A loop that calls `train_on_batch` once in each turn.

    Args:
        model: the code of the model.
        before: code that makes the arrays, without indentation; may be empty.
        given: the code of what `fit` is given.
        results: what becomes of the numbers that `train_on_batch` returns.
    """

    loop: ast.For
    model: str
    before: str
    given: tuple[str, ...]
    results: Results
    is_shuffled: bool


def fit_for_batches(script: Script, line: int, scripts: Sequence[Script]) -> list[Change]:
    """Return the changes from `train_on_batch` at a line to `fit`: one call, or one per epoch."""
    trained = _trained(script, line, scripts)
    if trained is None:
        return []
    found = (_all_epochs(script, trained), _each_epoch(script, trained))
    return [change for change in found if change is not None]


def _trained(script: Script, line: int, scripts: Sequence[Script]) -> Trained | None:
    call = _call_at(script, line)
    statement = script.statement(call) if call is not None else None
    loop = script.parent(statement) if statement is not None else None
    if call is None or not isinstance(loop, ast.For) or loop.body[-1] is not statement:
        return None
    model = _model(script, call)
    if any(f.name in _OWN for s in scripts for f in s.all(ast.FunctionDef)):
        return None  # a model of the user's own kind
    results = results_of(script, statement, call, scripts)
    if not model or results is None or reads(*loop.body[:-1]) & {model.partition(".")[0]}:
        return None
    bound = writes(loop) - set(results.names)
    if any(is_read_after(script, name, [loop]) for name in bound) or len(call.args) != 2:
        return None
    return _from_arrays(script, loop, call, model, results) or _from_dataset(
        script, loop, call, model, results
    )


def _call_at(script: Script, line: int) -> ast.Call | None:
    """Return the only call at a line that trains on a batch, also under another name."""
    found = [
        c
        for c in script.all(ast.Call)
        if c.lineno <= line <= (c.end_lineno or 0) and _model(script, c)
    ]
    return found[0] if len(found) == 1 else None


def _model(script: Script, call: ast.Call) -> str:
    """Return the code of the model that a call trains on a batch; nothing for other calls."""
    callee: ast.expr | None = call.func
    if isinstance(callee, ast.Name):
        callee = only_value(script, scope_of(script, call), callee.id)
    is_training = isinstance(callee, ast.Attribute) and callee.attr == "train_on_batch"
    return dotted(callee.value) if is_training else ""  # type: ignore[union-attr]


def _from_arrays(
    script: Script, loop: ast.For, call: ast.Call, model: str, results: Results
) -> Trained | None:
    batches = batches_of(script, loop)
    if batches is None:
        return None
    direct = _direct(batches, call)
    lines, named = _prepared(batches, direct)
    if lines is None:
        return None
    parts = [direct.get(dotted(value)) or _whole(batches, value, named) for value in call.args]
    if not all(parts):
        return None
    given = (*parts, f"batch_size={batches.size}", "shuffle=False")
    return Trained(loop, model, "\n".join(lines), given, results, is_shuffled=False)


def _direct(batches: Batches, call: ast.Call) -> dict[str, str]:
    """Return the code of all rows for names of a batch that only the call reads."""
    found: dict[str, str] = {}
    loads = [n for n in batches.script.all(ast.Name, batches.loop) if isinstance(n.ctx, ast.Load)]
    for name, value in batches.values.items():
        uses = [n for n in loads if n.id == name]
        code = batches.whole(value)
        if code and uses and all(n in call.args for n in uses):
            found[name] = code
    return found


def _prepared(batches: Batches, direct: Mapping[str, str]) -> tuple[list[str] | None, list[str]]:
    """Return the statements that make the batch, for all rows at once, and the names they give."""
    lines: list[str] = []
    named: list[str] = []
    for statement in batches.loop.body[:-1]:
        names = [name for name, _ in assigned(statement)]
        if batches.is_index(statement) or (names and all(name in direct for name in names)):
            continue
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            return None, []
        if len(statement.targets) > 1 or not batches.is_by_row(statement.value, named):
            return None, []
        named.append(statement.targets[0].id)
        lines.append(_for_all(batches, statement))
    return lines, named


def _for_all(batches: Batches, node: ast.AST) -> str:
    """Return code with all rows in the place of each batch."""
    found: dict[ast.expr, str] = {}
    for inner in ast.walk(node):
        code = batches.whole(inner) if isinstance(inner, ast.Subscript) else ""
        if code and isinstance(inner, ast.Subscript):
            found[inner] = code
    return rewritten(batches.script, node, found)


def _whole(batches: Batches, value: ast.expr, named: Sequence[str]) -> str:
    if isinstance(value, ast.Name) and value.id in named:
        return value.id
    if isinstance(value, ast.List | ast.Tuple):
        return batches.whole(value)
    is_fixed = not any(batches.whole(n) for n in ast.walk(value) if isinstance(n, ast.expr))
    if is_fixed or not batches.is_by_row(value, named):
        return ""
    return _for_all(batches, value)


def _from_dataset(
    script: Script, loop: ast.For, call: ast.Call, model: str, results: Results
) -> Trained | None:
    """Read `for x, y in ds: model.train_on_batch(x, y)`."""
    if len(loop.body) != 1 or not isinstance(loop.target, ast.Tuple) or loop.orelse:
        return None
    names = [dotted(part) for part in loop.target.elts]
    if names != [dotted(value) for value in call.args] or not all(names):
        return None
    if not is_dataset(script, loop.iter):
        return None
    given = (script.code(loop.iter),)
    return Trained(loop, model, "", given, results, is_shuffled=is_shuffled(script, loop.iter))


def _class(trained: Trained) -> FixClass:
    return FixClass.MAY_CHANGE_RESULTS if trained.is_shuffled else FixClass.EQUIVALENT


def _note(trained: Trained) -> str:
    notes = [ORDER if trained.is_shuffled else ROUNDING]
    return " ".join([*notes, MEAN] if trained.results.read else notes)


def _each_epoch(script: Script, trained: Trained) -> Change | None:
    """Replace the loop over batches by one call of `fit`."""
    result = trained.results.from_history(script)
    name = f"{result[0]} = {trained.model}.fit" if result else f"{trained.model}.fit"
    fit = call_code(name, [*trained.given, "verbose=0"], script.indent(trained.loop))
    lines = [*comments_in(script, trained.loop), *filter(None, [trained.before])]
    lines += [fit, result[1]] if result else [fit]
    edit = script.replace_statements(trained.loop, trained.loop, "\n".join(lines))
    if edit is None:
        return None
    return Change(PER_EPOCH, _class(trained), (*_unused(script, trained), edit), _note(trained))


def _unused(script: Script, trained: Trained) -> tuple[Edit, ...]:
    """Take `step = model.train_on_batch` away where nothing uses that name any more."""
    called = [c for c in script.all(ast.Call, trained.loop) if _model(script, c)]
    name = called[0].func if called else None
    if not isinstance(name, ast.Name):
        return ()
    uses = [n for n in script.all(ast.Name) if n.id == name.id]
    stores = [n for n in uses if isinstance(n.ctx, ast.Store)]
    if len(uses) != 2 or len(stores) != 1:
        return ()
    edit = script.remove(script.statement(stores[0]))
    return (edit,) if edit is not None else ()


def _all_epochs(script: Script, trained: Trained) -> Change | None:
    """Replace the loop over epochs, where it does nothing else but print, by one `fit`."""
    outer = script.parent(trained.loop)
    if not isinstance(outer, ast.For) or outer.orelse or outer.body[0] is not trained.loop:
        return None
    epochs = _count(script, outer)
    shown = outer.body[1:]
    if not epochs or not all(_is_print(statement) for statement in shown):
        return None
    number = outer.target.id if isinstance(outer.target, ast.Name) else ""
    if not number or is_read_after(script, number, [outer]):
        return None
    changed = writes(outer) & reads(ast.parse(f"f({', '.join(trained.given)})"))
    if changed or trained.before or any(trained.results.is_read_outside(script, outer)):
        return None
    report = trained.results.report(script, number, shown)
    if report is None:
        return None
    function, callbacks = report
    given = [*trained.given, f"epochs={epochs}", "verbose=0", *([callbacks] if callbacks else [])]
    fit = call_code(f"{trained.model}.fit", given, script.indent(outer))
    lines = [*comments_in(script, outer), fit]
    edit = script.replace_statements(outer, outer, "\n".join(lines))
    made = placed(script, outer, function, is_function=True) if function else None
    if edit is None or (function and made is None):
        return None
    edits = (*_unused(script, trained), *([made] if made is not None else []), edit)
    return Change(ALL, _class(trained), edits, _note(trained))


def _count(script: Script, outer: ast.For) -> str:
    """Return the code of how many turns `for epoch in range(n)` takes; nothing for other loops."""
    call = outer.iter
    is_range = isinstance(call, ast.Call) and dotted(call.func) == "range" and not call.keywords
    if not is_range or not isinstance(call, ast.Call) or len(call.args) != 1:
        return ""
    return script.code(call.args[0])


def _is_print(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Call) and dotted(value.func) == "print"

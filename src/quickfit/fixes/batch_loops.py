"""Turns a loop around `train_on_batch` into `fit` with the same batches in the same order."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from quickfit.fixes.batch_fits import Trained, all_epochs, each_epoch, trained_model
from quickfit.fixes.batch_generators import generator_steps
from quickfit.fixes.batch_replays import (
    can_replay,
    counted,
    counter_of,
    has_own_steps,
)
from quickfit.fixes.batch_results import Results, keras_import, results_of, unnamed_loss
from quickfit.fixes.batch_slices import Batches, assigned, batches_of
from quickfit.fixes.batch_tails import NO_TAIL, Tail, is_reset, means_of, tail_of
from quickfit.fixes.bindings import dotted, reads, writes
from quickfit.fixes.change import Change
from quickfit.fixes.dataset_names import is_dataset, is_shuffled
from quickfit.fixes.lifetimes import is_read_after
from quickfit.fixes.script import Script
from quickfit.fixes.text_edits import rewritten

_OWN = {"fit", "train_on_batch"}


def fit_for_batches(
    script: Script, line: int, scripts: Sequence[Script], *, is_per_batch: bool = False
) -> list[Change]:
    """Return the changes from `train_on_batch` at a line to `fit`: one call, or one per epoch.

    `is_per_batch` tells that this Keras returns the loss of one batch, not of all so far.
    """
    trained = _trained(script, line, scripts, is_exact=False)
    if trained is None and is_per_batch:
        trained = _trained(script, line, scripts, is_exact=True)
    if trained is None:
        return []
    found = (all_epochs(script, trained), each_epoch(script, trained))
    return [change for change in found if change is not None]


def _trained(
    script: Script, line: int, scripts: Sequence[Script], *, is_exact: bool
) -> Trained | None:
    call = _call_at(script, line)
    statement = script.statement(call) if call is not None else None
    loop = script.parent(statement) if statement is not None else None
    if call is None or statement is None or not isinstance(loop, ast.For):
        return None
    model, place = trained_model(script, call), loop.body.index(statement)
    before, after = loop.body[:place], loop.body[place + 1 :]
    if any(f.name in _OWN for s in scripts for f in s.all(ast.FunctionDef)):
        return None  # a model of the user's own kind
    results = results_of(script, statement, call, scripts, tail=after, is_exact=is_exact)
    if is_exact and results is None and not after:
        results = unnamed_loss(script, statement, call, scripts)
    before = [s for s in before if not is_reset(s, model)]
    if not model or results is None or reads(*before) & {model.partition(".")[0]}:
        return None
    is_unnamed = not results.names and bool(results.keys)
    tail = tail_of(script, [statement] if is_unnamed else after, model, results)
    bound = writes(loop) - set(results.names) - writes(statement, *after)
    late = {name for name in bound if is_read_after(script, name, [loop])}
    # A loop over the losses counts on; `fit` does not.
    if len(call.args) != 2 or late - (counter_of(loop) if is_exact and after else set()):
        return None
    read = _from_arrays if isinstance(loop.target, ast.Name) else _from_batches
    trained = read(script, loop, call, results, scripts)
    if trained is None:
        return None
    if is_exact:
        if has_own_steps(scripts):
            return None
        tail = tail if not late else None
        return _with_each(script, trained, tail, [statement] if is_unnamed else after)
    return _with_means(script, trained, tail) if tail is not None else None


def _with_each(
    script: Script, trained: Trained, tail: Tail | None, after: Sequence[ast.stmt]
) -> Trained | None:
    """Return the same with what needs the numbers of each batch; None where that is unclear."""
    if not keras_import(script)[0]:
        return None
    if tail is not None and not tail.sums and not tail.counts:
        return replace(trained, tail=tail, is_exact=True)
    after = [s for s in after if not is_reset(s, trained.model)]
    if tail is not None and not trained.results.names and trained.results.keys:
        return replace(trained, is_exact=True, replay=tuple(after))
    if not after or not can_replay(script, trained.loop, after, trained.model, trained.results):
        return None
    return replace(trained, is_exact=True, replay=tuple(after))


def _with_means(script: Script, trained: Trained, tail: Tail) -> Trained | None:
    """Return the same with what shows the means of an epoch; None where `fit` has no such mean."""
    if tail == NO_TAIL:
        return trained
    if not trained.is_even:
        return None  # `fit` would count the last batch by its rows
    iterated = trained.loop.iter
    count = ""
    if isinstance(iterated, ast.Call) and dotted(iterated.func) == "range":
        count = ast.unparse(iterated.args[0]) if len(iterated.args) == 1 else ""
    means = means_of(script, trained.loop, tail, count)
    return replace(trained, tail=tail, means=means) if means is not None else None


def _call_at(script: Script, line: int) -> ast.Call | None:
    """Return the only call at a line that trains on a batch, also under another name."""
    found = [
        c
        for c in script.all(ast.Call)
        if c.lineno <= line <= (c.end_lineno or 0) and trained_model(script, c)
    ]
    return found[0] if len(found) == 1 else None


def _from_arrays(
    script: Script, loop: ast.For, call: ast.Call, results: Results, scripts: Sequence[Script]
) -> Trained | None:
    model = trained_model(script, call)
    batches = batches_of(script, loop)
    if batches is None:
        return None
    direct = _direct(batches, call)
    lines, named = _prepared(batches, direct, script.statement(call), model)
    if lines is None:
        return None
    parts = [direct.get(dotted(value)) or _whole(batches, value, named) for value in call.args]
    if not all(parts):
        return None
    given = (*parts, f"batch_size={batches.size}", "shuffle=False")
    return Trained(
        loop, model, "\n".join(lines), given, results, is_shuffled=False, is_even=batches.is_cut
    )


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


def _prepared(
    batches: Batches, direct: Mapping[str, str], last: ast.stmt, model: str
) -> tuple[list[str] | None, list[str]]:
    """Return the statements that make the batch, for all rows at once, and the names they give."""
    lines: list[str] = []
    named: list[str] = []
    for statement in batches.loop.body[: batches.loop.body.index(last)]:
        if is_reset(statement, model):
            continue
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


def _from_batches(
    script: Script, loop: ast.For, call: ast.Call, results: Results, scripts: Sequence[Script]
) -> Trained | None:
    """Read `for x, y in ds: model.train_on_batch(x, y)`, also over a generator."""
    statement, model = script.statement(call), trained_model(script, call)
    before = [s for s in loop.body[: loop.body.index(statement)] if not is_reset(s, model)]
    target, batches = counted(loop) or (loop.target, loop.iter)
    if before or not isinstance(target, ast.Tuple) or loop.orelse:
        return None
    names = [dotted(part) for part in target.elts]
    if names != [dotted(value) for value in call.args] or not all(names):
        return None
    batches = _unconverted(batches)
    given: tuple[str, ...] = (script.code(batches),)
    if is_dataset(script, batches):
        is_random = is_shuffled(script, batches)
        return Trained(loop, model, "", given, results, is_shuffled=is_random)
    steps = generator_steps(script, batches, scripts, model)
    if not steps:
        return None
    given = (*given, f"steps_per_epoch={steps}", "shuffle=False")
    return Trained(loop, model, "", given, results, is_shuffled=False, is_used_up=True)


def _unconverted(batches: ast.expr) -> ast.expr:
    """Return the dataset whose batches a loop takes as arrays of NumPy: `fit` takes tensors."""
    func = batches.func if isinstance(batches, ast.Call) else None
    is_numpy = isinstance(func, ast.Attribute) and func.attr == "as_numpy_iterator"
    return func.value if is_numpy and isinstance(func, ast.Attribute) else batches

"""Writes the calls of `fit` that take the place of a loop around `train_on_batch`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from quickfit.findings import FixClass
from quickfit.fixes.batch_replays import added_up, callbacks_code, comments_above, replayed
from quickfit.fixes.batch_results import Results, history_name, keras_import
from quickfit.fixes.batch_slices import is_bar
from quickfit.fixes.batch_tails import NO_TAIL, Means, Tail, is_reset
from quickfit.fixes.bindings import dotted, only_value, reads, scope_of, writes
from quickfit.fixes.change import Change, Edit
from quickfit.fixes.comments import comments_in
from quickfit.fixes.hoisting import placed
from quickfit.fixes.lifetimes import is_read_after
from quickfit.fixes.script import Script
from quickfit.fixes.text_edits import call_code

MEAN = "What is printed is then the mean of an epoch, as `fit` computes it, not the last batch's."
MEANS = "The mean of an epoch is the one that `fit` computes: equal to rounding."
EXACT = "The losses are those of single batches, as before."
BAR = "Keras shows its own progress bar."
MEMORY = "The rows of a whole epoch are a second copy of the data in memory."
ROUNDING = "The same batches in the same order; weights agree to rounding."
ORDER = "The dataset shuffles in another order than before."
PER_EPOCH, ALL = "Give each epoch to `fit` at once", "Give all epochs to one `fit`"


@dataclass(frozen=True)
class Trained:
    """A loop that calls `train_on_batch` once in each turn.

    Args:
        model: the code of the model.
        before: code that makes the arrays, without indentation; may be empty.
        given: the code of what `fit` is given.
        results: what becomes of the numbers that `train_on_batch` returns.
        tail: where each turn collects these numbers.
        means: how they are shown where only their mean is; None where each one counts.
        is_exact: the numbers have to be those of single batches.
        is_used_up: the batches are there for one epoch only.
        is_even: all batches have the same number of rows.
        replay: what is done with the numbers of each batch, after `fit`.
    """

    loop: ast.For
    model: str
    before: str
    given: tuple[str, ...]
    results: Results
    is_shuffled: bool
    tail: Tail = NO_TAIL
    means: Means | None = None
    is_exact: bool = False
    is_used_up: bool = False
    is_even: bool = False
    replay: tuple[ast.stmt, ...] = ()


def trained_model(script: Script, call: ast.Call) -> str:
    """Return the code of the model that a call trains on a batch; nothing for other calls."""
    callee: ast.expr | None = call.func
    if isinstance(callee, ast.Name):
        callee = only_value(script, scope_of(script, call), callee.id)
    is_training = isinstance(callee, ast.Attribute) and callee.attr == "train_on_batch"
    return dotted(callee.value) if is_training else ""  # type: ignore[union-attr]


def _class(trained: Trained) -> FixClass:
    return FixClass.MAY_CHANGE_RESULTS if trained.is_shuffled else FixClass.EQUIVALENT


def _note(trained: Trained) -> str:
    notes = [ORDER if trained.is_shuffled else ROUNDING]
    if trained.is_exact:
        notes.append(EXACT)
    elif trained.means is not None:
        notes.append(MEANS)
    elif trained.results.read:
        notes.append(MEAN)
    if is_bar(trained.loop.iter):
        notes.append(BAR)
    if trained.before or any(re.search(r"\[\w", given) for given in trained.given[:2]):
        notes.append(MEMORY)
    return " ".join(notes)


def each_epoch(script: Script, trained: Trained) -> Change | None:
    """Replace the loop over batches by one call of `fit`."""
    result = trained.results.from_history(script)
    after = [result[1]] if result else []
    shown: tuple[Edit, ...] | None = ()
    if trained.means is not None:
        lines, shown = _shown_means(script, trained.means)
        after += lines
    if shown is None:
        return None
    history = f"{history_name(script)} = " if after else ""
    indent, head = script.indent(trained.loop), ""
    ends: list[str] = []
    given = [*trained.given, *_verbosity(trained)]
    if trained.replay:
        again_of = replayed if trained.results.names else added_up
        head, end, again = again_of(script, trained.loop, trained.replay, trained.results)
        history, after, ends = "", [again], [end]
    elif trained.is_exact:
        ends = [f'{place}.append(logs["{key}"])' for place, key in trained.tail.lists]
    if trained.is_exact:
        given.append(callbacks_code(script, trained.model, ends, indent))
    fit = call_code(f"{history}{trained.model}.fit", given, indent)
    lines = [*_comments(script, trained), *filter(None, [trained.before, head]), fit, *after]
    edit = script.replace_statements(trained.loop, trained.loop, "\n".join(lines))
    if edit is None:
        return None
    imports = keras_import(script)[1] if trained.is_exact else ()
    edits = (*imports, *_unused(script, trained), *shown, edit)
    return Change(PER_EPOCH, _class(trained), edits, _note(trained))


def _comments(script: Script, trained: Trained) -> list[str]:
    """Return the comments of the loop, but for those that are moved with their statements."""
    found, moved = comments_in(script, trained.loop), trained.replay
    if not moved or not trained.results.names:
        return found
    kept = len(comments_in(script, moved[0], moved[-1])) + comments_above(script, moved[0])
    return found[: len(found) - kept]


def _verbosity(trained: Trained) -> list[str]:
    return [] if is_bar(trained.loop.iter) else ["verbose=0"]


def _shown_means(script: Script, means: Means) -> tuple[list[str], tuple[Edit, ...] | None]:
    """Return the statements that name the means of an epoch, and the edits that show them."""
    history = history_name(script)
    lines = [f'{name} = {history}.history["{key}"]' for name, key in means.lists]
    edits: list[Edit | None] = [script.remove(statement) for statement in means.made]
    for text, statement, key in means.texts:
        name = f"mean_{key}"
        if name in script.text:
            return [], None
        line = f'{name} = {history}.history["{key}"][-1]'
        lines += [line] if line not in lines else []
        edits.append(_text_edit(script, statement, text, name))
    is_lost = any(comments_in(script, statement) for statement in means.made)
    made = tuple(edit for edit in edits if edit is not None)
    return lines, made if len(made) == len(edits) and not is_lost else None


def _text_edit(script: Script, statement: ast.stmt, text: str, code: str) -> Edit | None:
    """Put code in the place of a text of one line, also inside a formatted string."""
    begin, end = script.begin(statement), script.end(statement)
    for line in range(begin[0], end[0] + 1):
        column = script.lines[line - 1].find(text)
        if column >= 0:
            return Edit(script.file, (line, column), (line, column + len(text)), code)
    return None


def _unused(script: Script, trained: Trained) -> tuple[Edit, ...]:
    """Take `step = model.train_on_batch` away where nothing uses that name any more."""
    called = [c for c in script.all(ast.Call, trained.loop) if trained_model(script, c)]
    name = called[0].func if called else None
    if not isinstance(name, ast.Name):
        return ()
    uses = [n for n in script.all(ast.Name) if n.id == name.id]
    stores = [n for n in uses if isinstance(n.ctx, ast.Store)]
    if len(uses) != 2 or len(stores) != 1:
        return ()
    edit = script.remove(script.statement(stores[0]))
    return (edit,) if edit is not None else ()


def all_epochs(script: Script, trained: Trained) -> Change | None:
    """Replace the loop over epochs, where it does nothing else but print, by one `fit`."""
    outer = script.parent(trained.loop)
    if not isinstance(outer, ast.For) or outer.orelse or trained.is_exact or trained.means:
        return None
    if trained.is_used_up:
        return None
    body = [s for s in outer.body if not is_reset(s, trained.model)]
    epochs, shown = _count(script, outer), body[1:]
    if body[0] is not trained.loop:
        return None
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
    given = [
        *trained.given,
        f"epochs={epochs}",
        *_verbosity(trained),
        *([callbacks] if callbacks else []),
    ]
    fit = call_code(f"{trained.model}.fit", given, script.indent(outer))
    lines = [*comments_in(script, outer), fit]
    edit = script.replace_statements(outer, outer, "\n".join(lines))
    made = placed(script, outer, function, is_function=True) if function else None
    if edit is None or (function and made is None):
        return None
    imports = keras_import(script)[1] if callbacks else ()
    edits = (*imports, *_unused(script, trained), *([made] if made is not None else []), edit)
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

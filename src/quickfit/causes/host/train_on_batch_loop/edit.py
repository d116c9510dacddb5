"""Turns a loop around `train_on_batch` into `fit` with the same batches in the same order."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from quickfit.causes._shared.train_loops.batch_losses import (
    Results,
    added_up,
    callbacks_code,
    can_replay,
    comments_above,
    counted,
    counter_of,
    has_own_steps,
    history_name,
    keras_import,
    replayed,
    results_of,
    unnamed_loss,
)
from quickfit.causes._shared.train_loops.batch_slices import Batches, assigned, batches_of, is_bar
from quickfit.causes._shared.train_loops.compiled_steps import placed
from quickfit.causes.host.train_on_batch_loop.loop_body import (
    NO_TAIL,
    Means,
    Tail,
    generator_steps,
    is_reset,
    means_of,
    tail_of,
)
from quickfit.code import Module
from quickfit.code.datasets import is_shuffled, is_surely_dataset
from quickfit.code.edits import call_code, code_with_replaced
from quickfit.code.scopes import dotted, is_read_after, only_value, reads, scope_of, writes
from quickfit.code.syntax import parse_code
from quickfit.findings import Change, Edit, FixClass

_OWN = {"fit", "train_on_batch"}


def fit_for_batches(
    module: Module, line: int, modules: Sequence[Module], *, is_per_batch: bool = False
) -> list[Change]:
    """Return the changes from `train_on_batch` at a line to `fit`: one call, or one per epoch.

    `is_per_batch` tells that this Keras returns the loss of one batch, not of all so far.
    """
    trained = _trained(module, line, modules, is_exact=False)
    if trained is None and is_per_batch:
        trained = _trained(module, line, modules, is_exact=True)
    if trained is None:
        return []
    found = (all_epochs(module, trained), each_epoch(module, trained))
    return [change for change in found if change is not None]


def _trained(
    module: Module, line: int, modules: Sequence[Module], *, is_exact: bool
) -> Trained | None:
    call = _call_at(module, line)
    statement = module.statement(call) if call is not None else None
    loop = module.parent(statement) if statement is not None else None
    if call is None or statement is None or not isinstance(loop, ast.For):
        return None
    model, place = trained_model(module, call), loop.body.index(statement)
    before, after = loop.body[:place], loop.body[place + 1 :]
    if any(f.name in _OWN for s in modules for f in s.all(ast.FunctionDef)):
        return None  # a model of the user's own kind
    results = results_of(module, statement, call, modules, tail=after, is_exact=is_exact)
    if is_exact and results is None and not after:
        results = unnamed_loss(module, statement, call, modules)
    before = [s for s in before if not is_reset(s, model)]
    if not model or results is None or reads(*before) & {model.partition(".")[0]}:
        return None
    is_unnamed = not results.names and bool(results.keys)
    tail = tail_of(module, [statement] if is_unnamed else after, model, results)
    bound = writes(loop) - set(results.names) - writes(statement, *after)
    late = {name for name in bound if is_read_after(module, name, [loop])}
    # A loop over the losses counts on; `fit` does not.
    if len(call.args) != 2 or late - (counter_of(loop) if is_exact and after else set()):
        return None
    read = _from_arrays if isinstance(loop.target, ast.Name) else _from_batches
    trained = read(module, loop, call, results, modules)
    if trained is None:
        return None
    if is_exact:
        if has_own_steps(modules):
            return None
        tail = tail if not late else None
        return _with_each(module, trained, tail, [statement] if is_unnamed else after)
    return _with_means(module, trained, tail) if tail is not None else None


def _with_each(
    module: Module, trained: Trained, tail: Tail | None, after: Sequence[ast.stmt]
) -> Trained | None:
    """Return the same with what needs the numbers of each batch; None where that is unclear."""
    if not keras_import(module)[0]:
        return None
    if tail is not None and not tail.sums and not tail.counts:
        return replace(trained, tail=tail, is_exact=True)
    after = [s for s in after if not is_reset(s, trained.model)]
    if tail is not None and not trained.results.names and trained.results.keys:
        return replace(trained, is_exact=True, replay=tuple(after))
    if not after or not can_replay(module, trained.loop, after, trained.model, trained.results):
        return None
    return replace(trained, is_exact=True, replay=tuple(after))


def _with_means(module: Module, trained: Trained, tail: Tail) -> Trained | None:
    """Return the same with what shows the means of an epoch; None where `fit` has no such mean."""
    if tail == NO_TAIL:
        return trained
    if not trained.is_even:
        return None  # `fit` would count the last batch by its rows
    iterated = trained.loop.iter
    count = ""
    if isinstance(iterated, ast.Call) and dotted(iterated.func) == "range":
        count = ast.unparse(iterated.args[0]) if len(iterated.args) == 1 else ""
    means = means_of(module, trained.loop, tail, count)
    return replace(trained, tail=tail, means=means) if means is not None else None


def _call_at(module: Module, line: int) -> ast.Call | None:
    """Return the only call at a line that trains on a batch, also under another name."""
    found = [
        c
        for c in module.all(ast.Call)
        if c.lineno <= line <= (c.end_lineno or 0) and trained_model(module, c)
    ]
    return found[0] if len(found) == 1 else None


def _from_arrays(
    module: Module, loop: ast.For, call: ast.Call, results: Results, modules: Sequence[Module]
) -> Trained | None:
    model = trained_model(module, call)
    batches = batches_of(module, loop)
    if batches is None:
        return None
    direct = _direct(batches, call)
    lines, named = _prepared(batches, direct, module.statement(call), model)
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
    loads = [
        n for n in batches.module.all(ast.Name, within=batches.loop) if isinstance(n.ctx, ast.Load)
    ]
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
    return code_with_replaced(batches.module, node, found)


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
    module: Module, loop: ast.For, call: ast.Call, results: Results, modules: Sequence[Module]
) -> Trained | None:
    """Read `for x, y in ds: model.train_on_batch(x, y)`, also over a generator."""
    statement, model = module.statement(call), trained_model(module, call)
    before = [s for s in loop.body[: loop.body.index(statement)] if not is_reset(s, model)]
    target, batches = counted(loop) or (loop.target, loop.iter)
    if before or not isinstance(target, ast.Tuple) or loop.orelse:
        return None
    names = [dotted(part) for part in target.elts]
    if names != [dotted(value) for value in call.args] or not all(names):
        return None
    batches = _unconverted(batches)
    given: tuple[str, ...] = (module.code(batches),)
    if is_surely_dataset(module, batches):
        is_random = is_shuffled(module, batches)
        return Trained(loop, model, "", given, results, is_shuffled=is_random)
    steps = generator_steps(module, batches, modules, model)
    if not steps:
        return None
    given = (*given, f"steps_per_epoch={steps}", "shuffle=False")
    return Trained(loop, model, "", given, results, is_shuffled=False, is_used_up=True)


def _unconverted(batches: ast.expr) -> ast.expr:
    """Return the dataset whose batches a loop takes as arrays of NumPy: `fit` takes tensors."""
    func = batches.func if isinstance(batches, ast.Call) else None
    is_numpy = isinstance(func, ast.Attribute) and func.attr == "as_numpy_iterator"
    return func.value if is_numpy and isinstance(func, ast.Attribute) else batches


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


def trained_model(module: Module, call: ast.Call) -> str:
    """Return the code of the model that a call trains on a batch; nothing for other calls."""
    callee: ast.expr | None = call.func
    if isinstance(callee, ast.Name):
        callee = only_value(module, scope_of(module, call), callee.id)
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


def each_epoch(module: Module, trained: Trained) -> Change | None:
    """Replace the loop over batches by one call of `fit`."""
    result = trained.results.from_history(module)
    after = [result[1]] if result else []
    shown: tuple[Edit, ...] | None = ()
    if trained.means is not None:
        lines, shown = _shown_means(module, trained.means)
        after += lines
    if shown is None:
        return None
    history = f"{history_name(module)} = " if after else ""
    indent, head = module.indent(trained.loop), ""
    ends: list[str] = []
    given = [*trained.given, *_verbosity(trained)]
    if trained.replay:
        again_of = replayed if trained.results.names else added_up
        head, end, again = again_of(module, trained.loop, trained.replay, trained.results)
        history, after, ends = "", [again], [end]
    elif trained.is_exact:
        ends = [f'{place}.append(logs["{key}"])' for place, key in trained.tail.lists]
    if trained.is_exact:
        given.append(callbacks_code(module, trained.model, ends, indent))
    fit = call_code(f"{history}{trained.model}.fit", given, indent)
    lines = [*_comments(module, trained), *filter(None, [trained.before, head]), fit, *after]
    edit = module.replace_statements(trained.loop, trained.loop, "\n".join(lines))
    if edit is None:
        return None
    imports = keras_import(module)[1] if trained.is_exact else ()
    edits = (*imports, *_unused(module, trained), *shown, edit)
    return Change(PER_EPOCH, _class(trained), edits, _note(trained))


def _comments(module: Module, trained: Trained) -> list[str]:
    """Return the comments of the loop, but for those that are moved with their statements."""
    found, moved = module.comments_in(trained.loop), trained.replay
    if not moved or not trained.results.names:
        return found
    kept = len(module.comments_in(moved[0], moved[-1])) + comments_above(module, moved[0])
    return found[: len(found) - kept]


def _verbosity(trained: Trained) -> list[str]:
    return [] if is_bar(trained.loop.iter) else ["verbose=0"]


def _shown_means(module: Module, means: Means) -> tuple[list[str], tuple[Edit, ...] | None]:
    """Return the statements that name the means of an epoch, and the edits that show them."""
    history = history_name(module)
    lines = [f'{name} = {history}.history["{key}"]' for name, key in means.lists]
    edits: list[Edit | None] = [module.remove(statement) for statement in means.made]
    for text, statement, key in means.texts:
        name = f"mean_{key}"
        if name in module.text:
            return [], None
        line = f'{name} = {history}.history["{key}"][-1]'
        lines += [line] if line not in lines else []
        edits.append(_text_edit(module, statement, text, name))
    is_lost = any(module.comments_in(statement) for statement in means.made)
    made = tuple(edit for edit in edits if edit is not None)
    return lines, made if len(made) == len(edits) and not is_lost else None


def _text_edit(module: Module, statement: ast.stmt, text: str, code: str) -> Edit | None:
    """Put code in the place of a text of one line, also inside a formatted string."""
    begin, end = module.begin(statement), module.end(statement)
    for line in range(begin[0], end[0] + 1):
        column = module.lines[line - 1].find(text)
        if column >= 0:
            return Edit(module.path, (line, column), (line, column + len(text)), code)
    return None


def _unused(module: Module, trained: Trained) -> tuple[Edit, ...]:
    """Take `step = model.train_on_batch` away where nothing uses that name any more."""
    called = [c for c in module.all(ast.Call, within=trained.loop) if trained_model(module, c)]
    name = called[0].func if called else None
    if not isinstance(name, ast.Name):
        return ()
    uses = [n for n in module.all(ast.Name) if n.id == name.id]
    stores = [n for n in uses if isinstance(n.ctx, ast.Store)]
    if len(uses) != 2 or len(stores) != 1:
        return ()
    edit = module.remove(module.statement(stores[0]))
    return (edit,) if edit is not None else ()


def all_epochs(module: Module, trained: Trained) -> Change | None:
    """Replace the loop over epochs, where it does nothing else but print, by one `fit`."""
    outer = module.parent(trained.loop)
    if not isinstance(outer, ast.For) or outer.orelse or trained.is_exact or trained.means:
        return None
    if trained.is_used_up:
        return None
    body = [s for s in outer.body if not is_reset(s, trained.model)]
    epochs, shown = _count(module, outer), body[1:]
    if body[0] is not trained.loop:
        return None
    if not epochs or not all(_is_print(statement) for statement in shown):
        return None
    number = outer.target.id if isinstance(outer.target, ast.Name) else ""
    if not number or is_read_after(module, number, [outer]):
        return None
    changed = writes(outer) & reads(parse_code(f"f({', '.join(trained.given)})"))
    if changed or trained.before or any(trained.results.is_read_outside(module, outer)):
        return None
    report = trained.results.report(module, number, shown)
    if report is None:
        return None
    function, callbacks = report
    given = [
        *trained.given,
        f"epochs={epochs}",
        *_verbosity(trained),
        *([callbacks] if callbacks else []),
    ]
    fit = call_code(f"{trained.model}.fit", given, module.indent(outer))
    lines = [*module.comments_in(outer), fit]
    edit = module.replace_statements(outer, outer, "\n".join(lines))
    made = placed(module, outer, function, is_function=True) if function else None
    if edit is None or (function and made is None):
        return None
    imports = keras_import(module)[1] if callbacks else ()
    edits = (*imports, *_unused(module, trained), *([made] if made is not None else []), edit)
    return Change(ALL, _class(trained), edits, _note(trained))


def _count(module: Module, outer: ast.For) -> str:
    """Return the code of how many turns `for epoch in range(n)` takes; nothing for other loops."""
    call = outer.iter
    is_range = isinstance(call, ast.Call) and dotted(call.func) == "range" and not call.keywords
    if not is_range or not isinstance(call, ast.Call) or len(call.args) != 1:
        return ""
    return module.code(call.args[0])


def _is_print(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Call) and dotted(value.func) == "print"

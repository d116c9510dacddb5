"""The model is saved so often that saving takes a tenth of the time or more.

Why it is slow: the training waits while all weights, and with them the optimizer's, are fetched,
packed and written. That takes as long for one batch of progress as for a thousand.

How it shows: calls that save take a tenth of the training or more, many times over, and the
samples of the main thread are in them as well. It does not matter who saves: a callback of Keras,
one of the script's own, or a line of its loop.

Example:
    keep = keras.callbacks.ModelCheckpoint("model.keras", save_freq=10)

Use instead:
    keep = keras.callbacks.ModelCheckpoint("model.keras", save_freq=100)

Fix class: same results. The training is the same; after a crash, up to ten times as much is to
be done again. A checkpoint of the best model so far may be another one when it is looked for
less often, and that change is marked so.

When it is wrong: on machines that may be taken away at any moment, short intervals are worth
their time. `save_weights_only=True` and a local disk make each save cheaper.
"""

from __future__ import annotations

import ast

from quickfit.causes._cause import Cause, example
from quickfit.code import Module, Program
from quickfit.code.constants import WrittenConstant, find_constant
from quickfit.code.lines import calls_named, line_of_call
from quickfit.code.loops import modulo_of, put_under_test, turn_test
from quickfit.code.scopes import call_at
from quickfit.code.syntax import called_name, is_open, keyword_value
from quickfit.findings import (
    Change,
    Edit,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Gain,
    Location,
    Symptom,
)
from quickfit.signals import Signals
from quickfit.signals.around_steps import SAVERS as SAVES_SAVERS
from quickfit.signals.around_steps import Saves, saves
from quickfit.signals.gains import gain, is_at_least, share_interval, speaks_against

# Below a tenth of the time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# One save at the end, or two, are no habit: this is about what is meant, not about what is sure.
# Where they were not counted, they must have been seen at so many different times.
MIN_SAVES = 3
# Samples must not say otherwise: less than a third of what the clock says. While a file is written
# the thread may hold Python's lock, and then it is seen less often.
MIN_AGREEMENT = 0.33
# What is left of it when a save is made half as often or a tenth as often. At best the steps after
# a save, which come from cold caches beside a busy disk, gain as well: measured up to 0.4 of it.
LEFT_OVER = (0.5, 0.1, -0.4)


def detect(signals: Signals) -> Finding | None:
    """Report saving that takes a share of the training."""
    if not signals.loop.trains:
        return None
    seen = saves(signals)
    if seen is None or seen.share < MIN_SHARE or not _is_habit(seen):
        return None
    return Finding(
        summary=_summary(seen, signals),
        where=_place(seen, signals),
        evidence=_evidence(seen, signals),
        gain=_gain(seen, signals),
        cost_share=seen.share,
        claims=("checkpoint",),
        is_of_whole=True,
    )


def _gain(seen: Saves, signals: Signals) -> Gain:
    """Return the gain of fewer saves; what the input makes meanwhile is waited for without them."""
    steps, whole_s = len(signals.steps.steps), signals.whole_time.total_s
    limit = (signals.input_limit_s or 0.0) * steps / whole_s if whole_s else 0.0
    after = [max(1 - seen.share * (1 - left), limit, 0.05) for left in LEFT_OVER]
    basis = "saving a tenth as often"
    if limit > 1 - seen.share:
        basis += "; then the input is the limit"
    return gain(1.0, (after[0], after[1], after[2]), basis)


def _is_habit(seen: Saves) -> bool:
    """Tell whether there were many saves, and clock and samples agree about them."""
    if not seen.count:
        # By samples alone: the share is as sure as they are.
        within = share_interval(seen.sampled_share, seen.samples)
        what = "samples of the main thread, for what saves"
        return seen.moments >= MIN_SAVES and is_at_least(MIN_SHARE, seen.share, within, what)
    if seen.count < MIN_SAVES:
        return False
    return not speaks_against(seen.sampled_share, seen.samples, seen.share, MIN_AGREEMENT)


def _summary(seen: Saves, signals: Signals) -> str:
    every = _every(seen, signals)
    if every is None:
        return "the model is saved again and again"
    return f"the model is saved every {every} steps" if every > 1 else "every step saves"


def _every(seen: Saves, signals: Signals) -> int | None:
    """Return after how many steps the model is saved; None where saves were not counted."""
    rows = signals.process.rows("steps")
    steps = sum(row["loop"] == signals.loop.id for row in rows)
    steps = max(steps, signals.steps.steps[-1].number)  # of a long run, not all rows are kept
    return max(round(steps / seen.count), 1) if seen.count else None


def _evidence(seen: Saves, signals: Signals) -> tuple[Evidence, ...]:
    whole_s, name = signals.whole_time.total_s, "of the main thread's samples are in a save"
    sampled = Evidence(name, seen.sampled_share, "share", f"{seen.samples} samples")
    if not seen.count:
        said = f"the most they can take of {whole_s:.1f} s of training"
        return (sampled, Evidence("outside the train step", seen.free_s, "s", said))
    said = f"saved {seen.count} times, {seen.longest_s * 1e3:.0f} ms at most"
    between_s = max(whole_s - seen.total_s, 0.0) / seen.count
    found = [
        Evidence("for each save", seen.each_s, "s", said),
        Evidence("of training between two saves", between_s, "s"),
    ]
    return (*found, sampled) if seen.sampled_share else tuple(found)


def _place(seen: Saves, signals: Signals) -> Location | None:
    """Return where saving is asked for: the callback's own line, or the call that saves."""
    found = _callback(signals)
    if found is not None:
        return signals.location(found[0], line_of_call(found[1]))
    return seen.location or signals.loop.location


def _callback(signals: Signals) -> tuple[str, ast.Call] | None:
    """Return the file and the call that makes Keras's own callback, where it can be only one."""
    times = (*signals.callbacks, *signals.epoch_callbacks)
    names = {time.name for time in times}.intersection(SAVES_SAVERS)
    if signals.loop.kind != "fit" or not names:
        return None
    files = {row["file"] for row in signals.process.rows("sources")}
    texts = {file: signals.source_text(file) for file in sorted(files)}
    found = [(file, call) for file in texts for call in calls_named(texts[file], *names)]
    # Of several, the one that says how often it saves, if there is only one such.
    often = [one for one in found if keyword_value(one[1], "save_freq") is not None]
    chosen = often if len(found) > 1 else found
    return chosen[0] if len(chosen) == 1 else None


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show what to write to save a tenth as often."""
    found = _callback(signals)
    is_best = found is not None and keyword_value(found[1], "save_best_only") is not None
    return Fix(
        title="Save a tenth as often",
        kind=FixClass.MAY_CHANGE_RESULTS if is_best else FixClass.SAME_RESULTS,
        example=_example(signals),
        note="After a crash, more is to be done again."
        + (" The best model is looked for less often." if is_best else ""),
    )


def _example(signals: Signals) -> str:
    """Return what to write: for a callback of Keras, or for a line that saves by itself."""
    seen = saves(signals)
    every = _every(seen, signals) if seen else None
    names = {time.name for time in (*signals.callbacks, *signals.epoch_callbacks)}
    if seen is None or (signals.loop.kind == "fit" and names.intersection(SAVES_SAVERS)):
        return example(__doc__ or "", "Use instead").replace("100", str(10 * (every or 10)))
    line = seen.location.text if seen.location else ""
    save = line if "save" in line and line.endswith(")") else 'model.save("model.keras")'
    # Between two calls of `fit`, a round is what is counted.
    when = "round % 10" if signals.loop.outside_s else f"step % {10 * (every or 10)}"
    return f"if {when} == 0:\n    {save}"


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Save a tenth as often: by the callback's number, or on fewer turns of the loop."""
    where = finding.where
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return []
    facts = signals.loop.facts
    steps = (facts.get("steps") or 0) * (facts.get("epochs") or 0) or None
    change = seldom_checkpoint(module, where.line, program, steps=steps)
    change = change or seldom_save(module, where.line, program)
    return [change] if change is not None else []


SAVERS = ("ModelCheckpoint", "BackupAndRestore")
# Calls that write a model and return nothing, or a path that nobody needs.
WRITING = ("save", "save_weights", "save_model", "write", "export")
# Calls that read what was saved.
READING = ("load_model", "load_weights", "restore", "read", "latest_checkpoint")
TIMES = 10
# A training that would save less often than this saves at the end of its epochs.
MIN_SAVES_LEFT = 2
NOTE = "After a crash, more is to be done again; the last steps may not be in a file."


def seldom_checkpoint(
    module: Module, line: int, program: Program, *, steps: int | None = None
) -> Change | None:
    """Multiply the `save_freq` of a callback, where it is a number that is written out.

    `steps` is how many the whole training has, where that is known: of too few nothing would be
    left to save, and the end of an epoch is taken instead.
    """
    call = call_at(module, line, *SAVERS)
    if call is None or is_open(call):
        return None
    found = find_constant(module, keyword_value(call, "save_freq"), program)
    if found is None or type(found.value) is not int or found.value < 1:
        return None
    edit = _multiplied(module, keyword_value(call, "save_freq"), found)
    if steps is not None and MIN_SAVES_LEFT * TIMES * found.value > steps:
        edit = None if "{batch" in module.code(call) or found.reads > 1 else found.edit('"epoch"')
    best = keyword_value(call, "save_best_only")
    is_best = best is not None and not (isinstance(best, ast.Constant) and not best.value)
    return _change(edit, program, is_best=is_best)


def _multiplied(module: Module, value: ast.expr | None, found: WrittenConstant) -> Edit | None:
    """Return the edit of the constant; in the call, where others read the constant too."""
    assert isinstance(found.value, int)
    if found.reads <= 1:
        return found.edit(str(TIMES * found.value))
    return module.replace(value, f"{TIMES} * {module.code(value)}") if value else None


def _change(edit: Edit | None, program: Program, *, is_best: bool = False) -> Change | None:
    if edit is None:
        return None
    is_read = _is_read(program)
    more = " The best model is looked for less often." if is_best else ""
    more += " The script reads a saved model: it may be an older one." if is_read else ""
    return Change(
        title="Save a tenth as often",
        kind=FixClass.MAY_CHANGE_RESULTS if is_best or is_read else FixClass.SAME_RESULTS,
        edits=(edit,),
        note=NOTE + more,
    )


def _is_read(program: Program) -> bool:
    """Tell whether some file of the project reads a model back."""
    modules = program.modules()
    return any(called_name(call) in READING for s in modules for call in s.all(ast.Call))


def seldom_save(module: Module, line: int, program: Program) -> Change | None:
    """Save on every tenth turn of a loop, or of the turns that an `if` around it picks."""
    call = call_at(module, line, *WRITING)
    statement = module.statement(call) if call is not None else None
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return None  # something is done with what it returns
    picked = module.parent(statement)
    if isinstance(picked, ast.If):
        return _change(_seldom_if(module, picked, program), program)
    test = turn_test(module, statement, TIMES)
    edit = put_under_test(module, [statement], test) if test is not None else None
    return _change(edit, program)


def _seldom_if(module: Module, picked: ast.If, program: Program) -> Edit | None:
    """Multiply the interval of `if step % 5 == 0:` that holds nothing but the save."""
    if len(picked.body) != 1 or picked.orelse:
        return None
    interval = modulo_of(picked.test)
    found = find_constant(module, interval, program)
    if interval is None or found is None or type(found.value) is not int or found.value < 1:
        return None
    return _multiplied(module, interval, found)


CAUSE = Cause(
    title="The model is saved too often",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
)

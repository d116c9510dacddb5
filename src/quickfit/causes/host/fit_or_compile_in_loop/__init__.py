"""`fit` is called again and again in a loop, and each call sets everything up anew.

Why it is slow: every call of `fit` makes a new dataset, new iterators and callbacks before its
first step. After a new `compile`, or with a new model, it also traces and compiles the train step
again, which takes as long as many steps.

How it shows: `fit` was called four times or more at one line; the time from the calls to their
first steps, and the traces that each call repeats, are a tenth of the training or more, and the
samples of the main thread are in `fit` but in none of its steps.

Example:
    for epoch in range(50):
        model.compile(keras.optimizers.SGD(rate(epoch)), loss="mse")
        model.fit(x, y, epochs=1)

Use instead:
    model.compile(keras.optimizers.SGD(rate(0)), loss="mse")
    model.fit(x, y, epochs=50, callbacks=[keras.callbacks.LearningRateScheduler(rate)])

Fix class: may change results. `compile` also forgets what the optimizer has learned about the
weights, and one `fit` shuffles in another order than many. Work between the calls goes into
`on_epoch_end` of a callback, parts of the data into one dataset, a single batch at a time to
`train_on_batch`.

When it is wrong: a few calls that each train for long cost next to nothing, and nothing is
reported. Time that the script itself spends between the calls is not counted. After a change of
`trainable` a new `compile` is needed.
"""

from __future__ import annotations

from collections.abc import Iterator

from quickfit.causes._cause import Cause, example
from quickfit.causes._shared.large_node import own_python_between_s
from quickfit.causes.host.fit_or_compile_in_loop.edit import (
    one_compile,
    one_compile_of_helper,
    one_fit,
)
from quickfit.causes.host.fit_or_compile_in_loop.history import fit_with_history
from quickfit.causes.host.fit_or_compile_in_loop.text import refits
from quickfit.code.conditions import is_for_tests, never_runs
from quickfit.code.lines import calls_around, is_run_often
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import name_of
from quickfit.findings import (
    Change,
    Effect,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Gain,
    Location,
    Spotted,
    Symptom,
)
from quickfit.signals import Signals
from quickfit.signals.gains import gain, speaks_against
from quickfit.signals.keras_calls import FitCalls, fit_calls

# Two phases of training, or three, are no loop: this is about what is meant, not what is sure.
MIN_CALLS = 4
# Below a tenth of the time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# Some call may trace for a reason of its own; when most do, it is because of what they have in
# common.
MIN_TRACED_SHARE = 0.5
# Samples must not say otherwise: less than a third of what the clock says.
MIN_AGREEMENT = 0.33
# With fewer steps per call, `fit` is used where one batch is to be trained.
FEW_STEPS = 3
# Calls as short as this are parts of an epoch more often than epochs.
SHORT_CALL = 10
# How much of the setting up goes with the calls: some of it every epoch needs, in one `fit` too.
REMOVED = (0.6, 0.9)
# How much of the ends of epochs goes when short calls become one epoch, or several; at best all.
ENDS_REMOVED = 0.5
# Never more than this share of the time goes: one call and one trace are needed.
MOST = 0.95
# They make a new model.
BUILDERS = {"Sequential", "Model", "Functional", "clone_model", "load_model", "from_config"}
COMPILED_ONCE = example(__doc__ or "", "Use instead")
BATCHES = "for x, y in batches:\n    loss = model.train_on_batch(x, y)"
PARTS = """\
# rounds: what comes between the calls goes into a callback
model.fit(x, y, epochs=50, callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=show)])
# parts of the data: one dataset that reads them
model.fit(tf.data.Dataset.from_tensor_slices(files).interleave(read), epochs=10)"""
ROUNDS = """\
first = model.get_weights()
for x, y in rounds:
    model.set_weights(first)
    model.fit(x, y, epochs=5)"""


def detect(signals: Signals) -> Finding | None:
    """Report calls of `fit` whose setting up takes a share of the training."""
    calls = fit_calls(signals)
    if calls is None or calls.calls < MIN_CALLS:
        return None
    whole_s, traced_s = signals.whole_time.total_s, _traced_s(calls, signals)
    clock = min(calls.setup_s / whole_s, 1.0)
    if speaks_against(calls.in_fit, calls.samples, clock, MIN_AGREEMENT):
        return None
    found = _gain(calls, traced_s, signals)
    share = 1 - 1 / found.likely
    if share < MIN_SHARE:
        return None
    return Finding(
        summary=_summary(calls, signals),
        where=_place(calls, signals),
        evidence=_evidence(calls, traced_s, signals),
        gain=found,
        cost_share=share,
        claims=("fit_calls", "tracing") if traced_s else ("fit_calls",),
        is_of_whole=True,
    )


SAID = {
    "compile": "is called in each turn of the loop at line {line}: the train step is traced anew"
    " each time, and the optimizer forgets what it has learned",
    "epochs": "trains for one epoch in each turn of the loop at line {line}: every call sets"
    " iterators and callbacks up anew",
    "row": "is called for one row in each turn of the loop at line {line}: setting up takes longer"
    " than the step",
    "parts": "is called in each turn of the loop at line {line}: every call sets iterators and"
    " callbacks up anew",
}


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report `fit` and `compile` of one model that a loop repeats; parts of data are a hint."""
    if is_for_tests(module):
        return
    for found in refits(program, module):
        if never_runs(program, module, found.call):
            continue
        called = f"`{module.code(found.model)}.{name_of(found.call.func)}`"
        loop = found.around
        yield Spotted(
            where=module.span(found.call),
            summary=f"{called} {SAID[found.kind].format(line=loop.line)}",
            effect=Effect.SLOW,
            related=((loop.module.span(loop.loop), "the loop"),) if loop.calls else (),
            is_hint=found.kind == "parts",
        )


def _traced_s(calls: FitCalls, signals: Signals) -> float:
    """Return how long the calls compiled, where most of them did.

    The first call is not in the time of the training as it is counted, nor is its setting up.
    """
    return signals.compiled_s(signals.steps) if calls.traced_share >= MIN_TRACED_SHARE else 0.0


def _gain(calls: FitCalls, traced_s: float, signals: Signals) -> Gain:
    whole, spent_s = signals.whole_time, calls.setup_s + traced_s
    is_short = calls.steps < SHORT_CALL
    ends_s = whole.iterator_ends_s + whole.epoch_ends_s if is_short else 0.0
    likely_s = REMOVED[1] * spent_s + ENDS_REMOVED * ends_s
    # What lies between the calls is Keras dropping what they made, or the script's own work, which
    # stays.
    between_s = max(whole.calls_s - own_python_between_s(signals), 0.0)
    most_s = max(traced_s + between_s + ends_s, spent_s)
    gone = (REMOVED[0] * spent_s, likely_s, most_s)
    # Steps as long as they are without tracing stay.
    steps_s = min(len(signals.steps.steps) * signals.steps.median_s, whole.total_s)
    least_s = max(steps_s, (1 - MOST) * whole.total_s)
    after = [max(whole.total_s - one_s, least_s) for one_s in gone]
    basis = "setting up once instead of in every call"
    return gain(whole.total_s, (after[0], after[1], after[2]), basis)


def _evidence(calls: FitCalls, traced_s: float, signals: Signals) -> tuple[Evidence, ...]:
    steps, whole_s = signals.steps, signals.whole_time.total_s
    each = f"of {_steps(calls)} each"
    found = [
        Evidence("calls of `fit` at this line", calls.calls, "count", each, signals.loop.location),
        Evidence(
            "from a call to its first step",
            calls.setup_s / (calls.calls - 1),
            "s",
            f"a step takes {steps.median_s * 1e3:.1f} ms",
        ),
    ]
    if traced_s:
        said = f"{traced_s:.1f} s in {whole_s:.1f} s of training"
        found.append(
            Evidence("calls that traced the train step again", calls.traced, "count", said)
        )
    elif calls.in_fit:
        name = "of the main thread's samples are in `fit` but in no step"
        found.append(Evidence(name, calls.in_fit, "share", f"{calls.samples} samples"))
    return tuple(found)


def _summary(calls: FitCalls, signals: Signals) -> str:
    if calls.traced_share < MIN_TRACED_SHARE:
        return f"`fit` is called {calls.calls} times, for {_steps(calls)} each"
    if _is_recompiled(calls, signals):
        return f"the model is compiled again for each of {calls.calls} calls of `fit`"
    return f"`fit` is called {calls.calls} times, each with a model that is traced anew"


def _steps(calls: FitCalls) -> str:
    return "one step" if calls.steps < FEW_STEPS / 2 else f"{calls.steps:.0f} steps"


def _is_recompiled(calls: FitCalls, signals: Signals) -> bool:
    """Tell whether one model is compiled again and again, instead of many being built."""
    at = calls.compile
    if calls.traced_share < MIN_TRACED_SHARE or calls.models > 1 or at is None:
        return False
    text = signals.source_text(at.file)
    return is_run_often(text, at.line) and not BUILDERS & calls_around(text, at.line)


def _place(calls: FitCalls, signals: Signals) -> Location | None:
    """Return the `compile` where it is to blame, else the `fit`."""
    return calls.compile if _is_recompiled(calls, signals) else signals.loop.location


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to compile once, build once or call `fit` once, or what takes a single batch."""
    calls = fit_calls(signals)
    if calls is None:
        return None
    if _is_recompiled(calls, signals):
        title, code = "Compile once, before the loop, and call `fit` once", COMPILED_ONCE
        note = "`compile` forgets the optimizer's state; one `fit` shuffles in another order."
    elif calls.traced_share >= MIN_TRACED_SHARE:
        title = "Build and compile the model once, and set its weights back for every round"
        note = "The optimizer keeps its state: set its variables back too, where that matters."
        code = ROUNDS
    elif calls.steps < FEW_STEPS:
        title, code = "Train on single batches with `train_on_batch`", BATCHES
        note = "It takes all it is given as one batch, and does not shuffle."
    else:
        title, code = "Call `fit` once, for all epochs or all parts of the data", PARTS
        note = "One `fit` shuffles in another order than many."
    return Fix(title, FixClass.MAY_CHANGE_RESULTS, example=code, note=note)


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Take the `compile` out of the loop, or make one `fit` of many."""
    where = finding.where
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return []
    modules = program.modules()
    found = one_compile(module, where.line, modules)
    others = (
        one_compile_of_helper(module, where.line, modules),
        one_fit(module, where.line),
        fit_with_history(module, where.line, modules),
    )
    return [*found, *(change for change in others if change is not None)]


CAUSE = Cause(
    title="`fit` or `compile` is called in a loop",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    fix=fix,
    changes=changes,
)

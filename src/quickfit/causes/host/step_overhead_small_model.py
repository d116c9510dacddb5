"""A small model: half of each step or so is Keras's own Python.

Why it is slow: between two steps `fit` asks for a batch, calls the compiled function, and updates
its progress, all in Python: about a millisecond, whatever the model. A small model is done sooner.

How it shows: two fifths of the step or more is CPU time of the main thread inside `fit` but outside
the compiled function, and nothing waits for input.

Example:
    model.compile("adam", loss="mse")

Use instead:
    model.compile("adam", loss="mse", steps_per_execution=32)

Fix class: same results. The same steps on the same batches, 32 of them in one call of the compiled
function; `on_train_batch_end` and the progress bar then come every 32 steps. With a callback that
works on batches it may change results. `jit_compile=True` can help further, but on a CPU it often
makes steps slower: measure it.

When it is wrong: with a few examples per step `tiny-batch` is the larger matter; a step that waits
for input, or computes, gains little. A training that is short beside the start of its script is
not worth the change. XLA computes on the thread that runs Python, so that the two cannot be told
apart there.
"""

from __future__ import annotations

from quickfit.account.planned import planned_weight
from quickfit.causes._cause import Cause, example
from quickfit.code import Program
from quickfit.code.compile_settings import steps_in_one_call
from quickfit.findings import Change, Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import gain
from quickfit.signals.step_cost import MAX_PYTHON_S, batch_size, fixed_cost

# Of the step: then even the cautious end of the gain is worth a change.
MIN_PYTHON_SHARE, MOST = 0.40, 0.50
# While a step waits for input, fewer calls do not make it shorter.
MAX_WAIT_SHARE = 0.10
# From here on `tiny-batch` has more to give.
MAX_TINY_EXAMPLES = 8
# Of the run as planned, imports and all: less saved is not worth a line of code.
MIN_SAVED_SHARE = 0.10
STEPS = 32
# What goes: of the Python per step, of the time in which threads wait for each other, and of the
# compute threads' time, a part of which is waking up for every call.
PYTHON_SAVED = (0.7, 1 - 1 / STEPS, 1 - 1 / STEPS)
IDLE_SAVED = (0.0, 0.3, 1.0)
COMPUTE_SAVED = (0.0, 0.1, 0.4)
# Keras's own two work on batches in every run, and mind nothing.
KERAS_OWN = ("History", "ProgbarLogger")
MIN_LOW_GAIN = 1.2


def detect(signals: Signals) -> Finding | None:
    """Report steps of `fit` that are mostly Keras's Python."""
    if signals.loop.kind != "fit" or signals.steps_per_execution > 1 or signals.is_eager:
        return None
    cost = fixed_cost(signals)
    # Samples taken in Python cannot tell it from operations that run on the main thread.
    least = MIN_PYTHON_SHARE if signals.process.facts.get("samples_native") else MOST
    if cost.python_s >= MAX_PYTHON_S or cost.python_share < least:
        return None
    if signals.wait.share > MAX_WAIT_SHARE:
        return None
    batch = batch_size(signals)
    if batch is not None and batch.examples <= MAX_TINY_EXAMPLES:
        return None
    saved = [
        python * cost.python_s + idle * cost.idle_s + compute * cost.compute_s
        for python, idle, compute in zip(PYTHON_SAVED, IDLE_SAVED, COMPUTE_SAVED, strict=True)
    ]
    if saved[1] / cost.calm_s * planned_weight(signals) < MIN_SAVED_SHARE:
        return None
    after = [cost.calm_s - part for part in saved]
    basis = f"{STEPS} steps in one call; what the model computes mostly stays"
    found = gain(cost.calm_s, (after[0], after[1], after[2]), basis)
    if found.low < MIN_LOW_GAIN:
        return None
    facts = signals.loop.facts
    parameters = facts.get("parameters")
    place = signals.location(facts.get("compile_file"), facts.get("compile_line"))
    return Finding(
        summary=f"{'most' if cost.python_share >= MOST else 'much'} of each step is Keras's own"
        " Python: the model is small",
        where=place or signals.loop.location,
        evidence=(
            Evidence(
                "of the step is Keras's Python",
                cost.python_share,
                "share",
                f"{cost.in_words}; CPU time",
            ),
            Evidence(
                "of CPU time per step in operations",
                cost.compute_s,
                "s",
                f"a model of {parameters} parameters" if parameters else "",
            ),
        ),
        gain=found,
        cost_share=min(saved[1] / cost.calm_s, 1.0),
        claims=("step",),
    )


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Add `steps_per_execution` to the call of `compile`."""
    works_on_batches = any(time.name not in KERAS_OWN for time in signals.callbacks)
    return Fix(
        title=f"Run {STEPS} steps in one call",
        kind=FixClass.MAY_CHANGE_RESULTS if works_on_batches else FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note=f"Callbacks on batches then come every {STEPS} steps.",
    )


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Add `steps_per_execution` to the call of `compile`."""
    where = finding.where
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return []
    works_on_batches = any(time.name not in KERAS_OWN for time in signals.callbacks)
    change = steps_in_one_call(module, where.line, STEPS, works_on_batches=works_on_batches)
    return [change] if change is not None else []


CAUSE = Cause(
    title="A small model's steps are mostly overhead",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
)

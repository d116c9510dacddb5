"""A callback does slow work after every batch, while the model waits.

Why it is slow: `on_train_batch_end` runs between two steps on the main thread. Whatever it does
(plots, files, predictions, a tracker over the network) is added to each step.

How it shows: the hooks of one callback take a tenth of the step time or more, by the clock and
again by the CPU time of the main thread or by stack samples. Steps in which something was traced
are left out, because that has a cause of its own.

Example:
    class Log(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.file.write(json.dumps(logs))
            self.file.flush()

Use instead:
    class Log(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch % 50 == 0:
                self.file.write(json.dumps(logs))

Fix class: same results. The training is the same; the callback works less often. Work that
needs every batch can be collected and done in `on_epoch_end`.

When it is wrong: while the step waits for input anyway, the callback's time is partly free; the
predicted gain says so. What a callback saves is reported by `checkpoint-too-often`, and what it
evaluates by `validation-dominates` where that is most of the time; only the rest counts here.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from quickfit.causes._cause import Cause
from quickfit.causes.host.callback_batch_slow.edit import (
    FREQUENCIES,
    seldom_hook,
    seldom_lambda,
    seldom_written,
)
from quickfit.code.program import Program
from quickfit.findings import Change, Evidence, Finding, Fix, FixClass, Gain, Location, Symptom
from quickfit.signals import Signals
from quickfit.signals.around_steps import SAVERS, is_saving, saves_per_step_s, validation
from quickfit.signals.gains import gain
from quickfit.signals.keras_calls import MIN_PREDICTIONS, predict_line, predict_samples
from quickfit.signals.loops import CallbackTime
from quickfit.signals.steps import Step, mean_of

# Below a tenth of the step time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# CPU time or stack samples must agree: at least half of what the clock says. A sampler sees a
# callback that waits, and CPU time sees one that computes; each is blind for the other kind.
MIN_AGREEMENT = 0.5
# Keras's own two are there in every run; their time is the terminal's. Others only save.
KERAS_OWN = ("History", "ProgbarLogger")
# From here on, evaluating in a callback is reported as validation.
MAX_VALIDATION_SHARE = 0.30
# What is left of its time when it works every third step, every 50th, or never; at best the step
# after it, which no longer comes from cold caches, gains as well.
LEFT_OVER = (0.35, 0.02, -0.15)
# A hook whose median is below this share of its mean works on some batches only.
MAX_USUAL = 0.2


def detect(signals: Signals) -> Finding | None:
    """Report the slowest callback when its batch hooks take a share of the step."""
    slow = [time for time in signals.callbacks if time.name not in (*KERAS_OWN, *SAVERS)]
    if not slow or _validates(slow[0], signals) or _predicts(slow[0], signals):
        return None
    callback = slow[0]
    steps = signals.untraced_steps
    step_s = mean_of(steps, "cycle_s")
    # The total includes steps that traced; the steps without say what the hook usually takes.
    hook_s = min(callback.step_s - _saves_s(signals), mean_of(steps, "callbacks_s"))
    cpu_s = max(min(mean_of(steps, "callbacks_cpu_s"), hook_s), 0.0)
    seen_share, samples = _sampled(callback, signals)
    if _is_seldom(steps, hook_s) and signals.spikes is not None:
        return None  # `spikes` tells of steps that take longer than the others
    share = hook_s / step_s
    agreed = max(cpu_s / step_s, seen_share)
    if share < MIN_SHARE or agreed < MIN_AGREEMENT * share:
        return None
    found = _gain(hook_s, step_s, signals)
    return Finding(
        summary=f"`{callback.name}.{callback.hook}` works on every batch",
        where=_place(callback, signals),
        evidence=(
            Evidence(
                "in this callback per step",
                hook_s,
                "s",
                f"{share:.0%} of the step, timed {callback.calls} times",
            ),
            Evidence("of CPU time in it per step", cpu_s, "s", "main thread")
            if cpu_s / step_s >= seen_share
            else Evidence(
                "of the main thread's samples are in it", seen_share, "share", f"{samples} samples"
            ),
        ),
        gain=found,
        cost_share=min(share, 1.0),
        claims=("callbacks",),
    )


def _is_seldom(steps: Sequence[Step], hook_s: float) -> bool:
    """Tell whether the callback does next to nothing on most batches, and much on some."""
    usual_s = statistics.median(step.callbacks_s or 0.0 for step in steps)
    return usual_s < MAX_USUAL * hook_s


def _saves_s(signals: Signals) -> float:
    """Return how long a step saves in callbacks of the script's own."""
    by_keras_s = sum(time.step_s for time in signals.callbacks if time.name in SAVERS)
    return max(saves_per_step_s(signals) - by_keras_s, 0.0)


def _validates(callback: CallbackTime, signals: Signals) -> bool:
    """Tell whether the callback's slowest line is what `validation-dominates` reports."""
    seen, at = validation(signals), callback.location
    if seen is None or seen.share < MAX_VALIDATION_SHARE or seen.location is None or at is None:
        return False
    line = signals.hot_line_in(at.file, at.line)
    return line is not None and (line.location.file, line.location.line) == (
        seen.location.file,
        seen.location.line,
    )


def _predicts(callback: CallbackTime, signals: Signals) -> bool:
    """Tell whether the callback's slowest line is what `predict-in-loop` reports."""
    seen, at = predict_line(signals), callback.location
    if seen is None or seen.calls < MIN_PREDICTIONS or at is None:
        return False
    line = signals.hot_line_in(at.file, at.line)
    if line is None or line.location.short != seen.location.short:
        return False
    return predict_samples(signals.main_stacks(), seen.location).is_overhead


def _sampled(callback: CallbackTime, signals: Signals) -> tuple[float, int]:
    """Return the share of the samples inside a callback that does not save, and all samples."""
    stacks = signals.main_stacks()
    total = sum(stack.seen for stack in stacks)
    file = callback.location.file if callback.location else None
    inside = sum(
        stack.seen
        for stack in stacks
        if any(f.function == callback.hook and file in (None, f.file) for f in stack.frames)
        and not is_saving(stack)
    )
    return (inside / total if total else 0.0), total


def _place(callback: CallbackTime, signals: Signals) -> Location | None:
    if callback.location is None:
        return signals.loop.location  # a library's callback: where it was given
    line = signals.hot_line_in(callback.location.file, callback.location.line)
    if line is not None and line.is_certain:
        return line.location
    return callback.location


def _gain(hook_s: float, step_s: float, signals: Signals) -> Gain:
    limit_s = signals.input_limit_s or 0.0
    after = [max(step_s - hook_s * (1 - left), limit_s) for left in LEFT_OVER]
    basis = "the same work every 50th step"
    if limit_s > step_s - hook_s:
        basis += "; then the input is the limit"
    return gain(step_s, (after[0], after[1], after[2]), basis)


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Let the hook return at once on most batches, or a library's logger write less often."""
    slow = [time for time in signals.callbacks if time.name not in (*KERAS_OWN, *SAVERS)]
    name, hook = (slow[0].name, slow[0].location) if slow else ("", None)
    change = seldom_written(program) if name in FREQUENCIES else None
    for place in (hook, finding.where):
        module = program.find_module(place.file) if place is not None else None
        if place is not None and module is not None and change is None:
            change = seldom_hook(module, place.line, program)
    if change is None and name == "LambdaCallback":
        change = seldom_lambda(program)
    return [change] if change is not None else []


CAUSE = Cause(
    title="A callback works on every batch",
    symptom=Symptom.SLOW,
    detect=detect,
    advice=Fix(
        title="Do the callback's work every 50th batch, or at the end of the epoch",
        kind=FixClass.SAME_RESULTS,
    ),
    changes=changes,
)

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
predicted gain says so.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Location, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import gain
from quickfit.signals.loops import CallbackTime
from quickfit.signals.steps import mean_of

# Below a tenth of the step time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# CPU time or stack samples must agree: at least half of what the clock says. A sampler sees a
# callback that waits, and CPU time sees one that computes; each is blind for the other kind.
MIN_AGREEMENT = 0.5
# Samples inside the callback that make its slowest line more than chance.
MIN_LINE_SAMPLES = 5
# Keras's own two are there in every run; their time is the terminal's.
KERAS_OWN = ("History", "ProgbarLogger")
# What is left of its time when it works every fifth step, every 50th, or never.
LEFT_OVER = (0.2, 0.02, 0.0)
# Never tell of a fix that would gain less.
MIN_GAIN = 1.05


def detect(signals: Signals) -> Finding | None:
    """Report the slowest callback when its batch hooks take a share of the step."""
    slow = [time for time in signals.callbacks if time.name not in KERAS_OWN]
    if not slow:
        return None
    callback = slow[0]
    steps = signals.untraced_steps
    step_s = mean_of(steps, "cycle_s")
    # The total includes steps that traced; the steps without say what the hook usually takes.
    hook_s = min(callback.step_s, mean_of(steps, "callbacks_s"))
    cpu_s = min(mean_of(steps, "callbacks_cpu_s"), hook_s)
    seen_share, samples = _sampled(callback, signals)
    share = hook_s / step_s
    agreed = max(cpu_s / step_s, seen_share)
    if share < MIN_SHARE or agreed < MIN_AGREEMENT * share:
        return None
    found = _gain(hook_s, step_s, signals)
    if found.likely < MIN_GAIN:
        return None
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


def _sampled(callback: CallbackTime, signals: Signals) -> tuple[float, int]:
    """Return the share of the main thread's samples inside a callback, and all samples."""
    stacks = signals.main_stacks()
    total = sum(stack.seen for stack in stacks)
    inside = sum(s.seen for s in stacks if any(f.function == callback.hook for f in s.frames))
    return (inside / total if total else 0.0), total


def _place(callback: CallbackTime, signals: Signals) -> Location | None:
    if callback.location is None:
        return signals.loop.location  # a library's callback: where it was given
    line = signals.hot_line_in(callback.location.file, callback.location.line)
    if line is not None and line.samples >= MIN_LINE_SAMPLES:
        return line.location
    return callback.location


def _gain(hook_s: float, step_s: float, signals: Signals) -> Gain:
    limit_s = signals.input_limit_s or 0.0
    after = [max(step_s - hook_s * (1 - left), limit_s) for left in LEFT_OVER]
    basis = "the same work every 50th step"
    if limit_s > step_s - hook_s:
        basis += "; then the input is the limit"
    return gain(step_s, (after[0], after[1], after[2]), basis)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to do the work every n-th batch."""
    return Fix(
        title="Do the callback's work every 50th batch, or at the end of the epoch",
        kind=FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
    )


CAUSE = Cause(title="A callback works on every batch", symptom=Symptom.SLOW, detect=detect, fix=fix)

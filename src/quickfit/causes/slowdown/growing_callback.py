"""A callback does more and more work as the training goes on.

Why it is slow: the callback keeps what it has seen and goes through all of it every time: a list
that is averaged, sorted, plotted or written anew. Its work grows with the steps so far, so the
training gets slower and slower, and its time in all grows with the square of the steps.

How it shows: a step, or the end of an epoch, takes at least a fifth longer than at first; the
callbacks grow by half of that or more, in CPU time too (or while they wait, with the machine as
idle as at first); the stacks of the last part of the run show the line that took less in the first.

Example:
    class Log(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.losses.append(logs["loss"])
            self.smooth = np.mean(self.losses)

Use instead:
    class Log(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.count += 1
            self.total += logs["loss"]
            self.smooth = self.total / self.count

Fix class: show only. A running sum, a `deque(maxlen=1000)` or doing the work once at the end of an
epoch gives what the callback is for; which of them is right, only its author knows.

When it is wrong: a callback that is slow from the first step on is `callback-batch-slow`. One that
calls `predict` again and again is `predict-in-loop`. Where batches get longer, or other programs
take the cores, nothing is reported.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example
from quickfit.findings import Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.drift_places import (
    Guilty,
    cost_share,
    does_more,
    evidence,
    gain,
    guilty,
    place,
    ruled_out,
)
from quickfit.signals.loops import CallbackTime

KERAS_OWN = ("History", "ProgbarLogger")


def detect(signals: Signals) -> Finding | None:
    """Report the callback whose work grows with the steps."""
    found = guilty(signals)
    if found is None or found.kind != "callback":
        return None
    callback = _callback(found, signals)
    name = f"`{callback.name}.{callback.hook}`" if callback is not None else "callbacks"
    of_epochs = found.slow.unit == "epoch"
    return Finding(
        summary=f"{name} {does_more(found, found.slow.unit)}",
        where=place(found, callback.location if callback else signals.loop.location),
        evidence=evidence(found.slow, name, found.line),
        gain=gain(found.slow, signals),
        cost_share=cost_share(found.slow, signals),
        claims=("epoch_callbacks",) if of_epochs else ("callbacks",),
        not_found=ruled_out(found.slow),
        is_of_whole=of_epochs,
    )


def _callback(found: Guilty, signals: Signals) -> CallbackTime | None:
    """Return the callback that the grown line runs in; without a line, the slowest."""
    times = signals.epoch_callbacks if found.slow.unit == "epoch" else signals.callbacks
    own = [time for time in times if time.name not in KERAS_OWN] or times
    frames = found.line.frames if found.line is not None else ()
    functions = {(frame.file, frame.function) for frame in frames}
    for time in own:
        if time.location is not None and (time.location.file, time.hook) in functions:
            return time
    return own[0] if own else None


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say how to keep the work of a callback the same."""
    line = finding.where.text if finding.where is not None else ""
    return Fix(
        title="Keep a running value, or the last thousand, instead of going through all of it",
        kind=FixClass.SHOW_ONLY,
        example=example(__doc__ or "", "Use instead"),
        note=f"The line that grows: `{line}`." if line else "",
    )


CAUSE = Cause(
    title="A callback's work grows with the steps",
    symptom=Symptom.SLOWING_DOWN,
    detect=detect,
    fix=fix,
)

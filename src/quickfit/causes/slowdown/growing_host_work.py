"""Python of the script between the steps does more and more work as the training goes on.

Why it is slow: code beside the step keeps what it has seen and goes through all of it each time:
`np.append` copies the whole array, a log is read or written from its beginning, a list is searched.
Its work grows with the steps so far, so the training gets slower and slower.

How it shows: a step, or what lies between two epochs, takes at least a fifth longer than at first;
the time outside the timed calls grows by half of that or more, in CPU time of the main thread too
(or while it waits, with the machine as idle as at first); the stacks of the last part of the run
show the line that took less in the first.

Example:
    for x, y in dataset:
        loss = train_step(x, y)
        history = np.append(history, loss.numpy())

Use instead:
    history = np.zeros(steps)
    for step, (x, y) in enumerate(dataset):
        loss = train_step(x, y)
        history[step] = loss.numpy()

Fix class: show only. Append to a list and convert it once, write at intervals, keep a running
value. Which of them is right, only the author knows.

When it is wrong: batches that get longer take longer to prepare, and no code is at fault. Where
the copies into tensors grow, or TensorFlow itself takes the time and sizes are not known, nothing
is reported. `predict`, `fit` and `compile` in a loop have causes of their own.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example
from quickfit.findings import Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.drift_places import (
    cost_share,
    does_more,
    evidence,
    gain,
    guilty,
    place,
    ruled_out,
)


def detect(signals: Signals) -> Finding | None:
    """Report the line between the steps whose time grows."""
    found = guilty(signals)
    if found is None or found.kind != "host":
        return None
    of_epochs = found.slow.unit == "epoch"
    what = "the script's code between epochs" if of_epochs else "the script's code between steps"
    return Finding(
        summary=f"{what} {does_more(found, found.slow.unit)}",
        where=place(found, signals.loop.location),
        evidence=evidence(found.slow, what, found.line),
        gain=gain(found.slow, signals),
        cost_share=cost_share(found.slow, signals),
        claims=("epoch_ends", "fit_calls", "unattributed") if of_epochs else ("between", "step"),
        not_found=ruled_out(found.slow),
        is_of_whole=of_epochs,
    )


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say how to keep the work per step the same."""
    line = finding.where.text if finding.where is not None else ""
    return Fix(
        title="Append to a list, write at intervals, or keep a running value",
        kind=FixClass.SHOW_ONLY,
        example=example(__doc__ or "", "Use instead"),
        note=f"The line that grows: `{line}`." if line else "",
    )


CAUSE = Cause(
    title="The script's own code grows with the steps",
    symptom=Symptom.SLOWING_DOWN,
    detect=detect,
    fix=fix,
)

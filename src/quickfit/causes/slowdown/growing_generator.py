"""The Python that makes the batches does more and more work as the training goes on.

Why it is slow: a generator, a PyDataset or a Python function in a map keeps what it has handed out
(a list, an array that is appended to, files it opens again) and goes through it for every batch.
Each batch takes longer than the one before, until the step waits for it.

How it shows: a step takes at least a fifth longer than at first; the time per batch inside the
input's Python grows by half of that or more, in CPU time too (or while it waits, with the machine
as idle as at first); batches are as large as at first, or the time per byte grows as well.

Example:
    def batches():
        seen = []
        for index in order:
            seen.append(index)
            weights = np.bincount(seen, minlength=1000)
            yield x[index] * weights[index], y[index]

Use instead:
    def batches():
        weights = np.zeros(1000)
        for index in order:
            weights[index] += 1
            yield x[index] * weights[index], y[index]

Fix class: show only. Keep a count or a bounded buffer instead of all that has been; open a file
once. What the generator has to remember, only its author knows.

When it is wrong: batches that get longer (sorted by length, a curriculum) take longer to make, and
no code is at fault: time is compared per byte first. A generator that is slow from the first batch
on is `py-generator-input` or `from-generator`.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example
from quickfit.errors import SignalMissing
from quickfit.findings import Finding, Fix, FixClass, Location, Symptom
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
    """Report the input code whose work grows with the batches."""
    found = guilty(signals)
    if found is None or found.kind != "generator":
        return None
    name, where = _source(signals)
    is_between = found.slow.part in ("between", "call")
    of_epochs = found.slow.unit == "epoch"
    return Finding(
        summary=f"{name} {does_more(found, 'epoch' if of_epochs else 'batch')}",
        where=place(found, where or signals.loop.location),
        evidence=evidence(found.slow, name, found.line),
        gain=gain(found.slow, signals),
        cost_share=cost_share(found.slow, signals),
        claims=("between", "input_wait") if is_between else ("input_wait", "step"),
        not_found=ruled_out(found.slow),
        is_of_whole=of_epochs,
    )


def _source(signals: Signals) -> tuple[str, Location | None]:
    try:
        source = signals.py_input
    except SignalMissing:
        source = None
    if source is None:
        return "the code that makes the batches", None
    return f"`{source.name}`", source.location


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say how to keep the work per batch the same."""
    line = finding.where.text if finding.where is not None else ""
    return Fix(
        title="Keep a count or a bounded buffer instead of all batches so far",
        kind=FixClass.SHOW_ONLY,
        example=example(__doc__ or "", "Use instead"),
        note=f"The line that grows: `{line}`." if line else "",
    )


CAUSE = Cause(
    title="Making a batch takes longer and longer",
    symptom=Symptom.SLOWING_DOWN,
    detect=detect,
    fix=fix,
)

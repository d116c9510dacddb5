"""What became of one candidate: measured, compared, accepted or not, and why."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.findings import Change, FixClass, Gain
from quickfit.lab.statistics import Measured


@dataclass(frozen=True)
class Outcome:
    """The proof of one change.

    Args:
        cause: what it is to remove; several names for all changes together.
        place: the line of the finding, as one says it.
        change: what it does.
        predicted: the gain that was foretold; None of several together.
        kind: its class after the results were compared: the one claimed, or a lower one.
        measured: how much faster it is; None where it could not be measured.
        results: how its results compare, in a few words.
        is_accepted: it is faster, and its results are what its class promises.
        why: why it was not accepted; empty where it was.
        unit: what was compared: the whole training, whole epochs or steps.
        took_s: what the proof took.
    """

    cause: str
    place: str
    change: Change
    predicted: Gain | None
    kind: FixClass
    measured: Measured | None
    results: str
    is_accepted: bool
    why: str = ""
    unit: str = ""
    took_s: float = 0.0

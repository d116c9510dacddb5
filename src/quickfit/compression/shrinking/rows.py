"""A line of the table: what was made, what was measured of it, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

ORIGINAL = "original"


class Kind(StrEnum):
    """What runs it."""

    KERAS = "keras"
    LITERT = "litert"


class Verdict(StrEnum):
    """What became of a candidate."""

    ORIGINAL = "original"
    ACCEPTED = "accepted"
    CHOSEN = "chosen"
    REJECTED = "rejected"
    NOT_MADE = "not made"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Figures:
    """What is known of a candidate; None where it was not measured.

    Args:
        accuracy: on the samples to choose by, 0 to 1.
        parameters: of a Keras model.
        flops: operations of one prediction.
        file_bytes: of its file.
        step_s: of one training step, of a Keras model.
        latency_s: of one prediction, by batch size.
    """

    accuracy: float | None = None
    parameters: int | None = None
    flops: int | None = None
    file_bytes: int | None = None
    step_s: float | None = None
    latency_s: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One candidate.

    Args:
        name: also that of its file.
        title: what it is, in words.
        kind: what runs it.
        parent: the Keras candidate that a LiteRT file was made from.
        figures: what was measured.
        verdict: what became of it.
        reason: of the verdict.
        is_on_front: whether nothing else is better in every respect.
        held_out: its accuracy on samples that nothing has seen, where it was asked for.
        notes: what a person should know about it.
        path: of its file, where it has one.
        model: the Keras model, or what runs its file.
    """

    name: str
    title: str
    kind: Kind = Kind.KERAS
    parent: str | None = None
    figures: Figures = Figures()
    verdict: Verdict = Verdict.NOT_MEASURED
    reason: str = ""
    is_on_front: bool = False
    held_out: float | None = None
    notes: tuple[str, ...] = ()
    path: Path | None = None
    model: Any = field(default=None, repr=False, compare=False)  # Keras has no types

    @property
    def is_there(self) -> bool:
        """Whether there is something to use."""
        return self.verdict is not Verdict.NOT_MADE


def time_of(figures: Figures, *, for_training: bool) -> float | None:
    """Return the time that counts: of a training step, or of a prediction of one sample."""
    return figures.step_s if for_training else figures.latency_s.get(1)


def value_of(figures: Figures, quantity: str, *, for_training: bool) -> float | None:
    """Return what a `Demand` is about."""
    if quantity == "time":
        return time_of(figures, for_training=for_training)
    names = {"size": "file_bytes", "flops": "flops", "parameters": "parameters"}
    found: float | None = getattr(figures, names[quantity])
    return found

"""What `shrink` returns: the candidates with their figures, and the one to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from quickfit.compression.shrinking.targets import Target


@dataclass(frozen=True)
class Shrunk:
    """All candidates, and the one to use.

    Args:
        rows: the original first.
        target: what was to be reached.
        for_training: whether the time of a step counts, and not that of a prediction.
        chosen: the name of the row to use; None where nothing is good enough.
        model: the Keras model of it, or the one that its file was made from.
        keras_path: its `.keras` file, where a folder was given.
        litert_path: its `.tflite` file, likewise.
        out: the folder.
        notes: what a person should know.
        took_s: the time of all of it.
        is_interrupted: whether Ctrl-C ended it early.
    """

    rows: tuple[CandidateRow, ...]
    target: Target
    for_training: bool = False
    chosen: str | None = None
    model: Any = None  # Keras has no types
    keras_path: Path | None = None
    litert_path: Path | None = None
    out: Path | None = None
    notes: tuple[str, ...] = ()
    took_s: float = 0.0
    is_interrupted: bool = False

    @property
    def original(self) -> CandidateRow:
        """The row of the original."""
        return self.row(ORIGINAL)

    @property
    def front(self) -> tuple[CandidateRow, ...]:
        """The rows that no other one beats in every respect."""
        return tuple(row for row in self.rows if row.is_on_front)

    def row(self, name: str) -> CandidateRow:
        """Return a row by its name."""
        return next(row for row in self.rows if row.name == name)

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON has it."""
        return {
            "target": self.target.text,
            "for": "training" if self.for_training else "inference",
            "chosen": self.chosen,
            "keras": None if self.keras_path is None else str(self.keras_path),
            "litert": None if self.litert_path is None else str(self.litert_path),
            "candidates": [row_json(row) for row in self.rows],
            "notes": list(self.notes),
            "took_s": round(self.took_s, 3),
            "is_interrupted": self.is_interrupted,
        }


def row_json(row: CandidateRow) -> dict[str, Any]:
    """Return one row as JSON has it."""
    figures = row.figures
    return {
        "name": row.name,
        "title": row.title,
        "kind": row.kind.value,
        "parent": row.parent,
        "accuracy": figures.accuracy,
        "held_out_accuracy": row.held_out,
        "parameters": figures.parameters,
        "flops": figures.flops,
        "file_bytes": figures.file_bytes,
        "step_s": figures.step_s,
        "latency_s": {str(batch): time_s for batch, time_s in figures.latency_s.items()},
        "verdict": row.verdict.value,
        "reason": row.reason,
        "is_on_front": row.is_on_front,
        "notes": list(row.notes),
        "path": None if row.path is None else str(row.path),
    }


ORIGINAL = "original"


class CandidateKind(StrEnum):
    """What runs it."""

    KERAS = "keras"
    LITERT = "litert"


class CandidateVerdict(StrEnum):
    """What became of a candidate."""

    ORIGINAL = "original"
    ACCEPTED = "accepted"
    CHOSEN = "chosen"
    REJECTED = "rejected"
    NOT_MADE = "not made"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class CandidateFigures:
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
class CandidateRow:
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
    kind: CandidateKind = CandidateKind.KERAS
    parent: str | None = None
    figures: CandidateFigures = CandidateFigures()
    verdict: CandidateVerdict = CandidateVerdict.NOT_MEASURED
    reason: str = ""
    is_on_front: bool = False
    held_out: float | None = None
    notes: tuple[str, ...] = ()
    path: Path | None = None
    model: Any = field(default=None, repr=False, compare=False)  # Keras has no types

    @property
    def is_there(self) -> bool:
        """Whether there is something to use."""
        return self.verdict is not CandidateVerdict.NOT_MADE


def time_of(figures: CandidateFigures, *, for_training: bool) -> float | None:
    """Return the time that counts: of a training step, or of a prediction of one sample."""
    return figures.step_s if for_training else figures.latency_s.get(1)


def value_of(figures: CandidateFigures, quantity: str, *, for_training: bool) -> float | None:
    """Return what a `Demand` is about."""
    if quantity == "time":
        return time_of(figures, for_training=for_training)
    names = {"size": "file_bytes", "flops": "flops", "parameters": "parameters"}
    found: float | None = getattr(figures, names[quantity])
    return found

"""What `shrink` gives back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickfit.compression.shrinking.rows import ORIGINAL, Row
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

    rows: tuple[Row, ...]
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
    def original(self) -> Row:
        """The row of the original."""
        return self.row(ORIGINAL)

    @property
    def front(self) -> tuple[Row, ...]:
        """The rows that no other one beats in every respect."""
        return tuple(row for row in self.rows if row.is_on_front)

    def row(self, name: str) -> Row:
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


def row_json(row: Row) -> dict[str, Any]:
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

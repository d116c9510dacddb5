"""What a trial kept of its results: losses and weights by step, and batches by their rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quickfit import trust
from quickfit.arrays import DamagedArraysError, open_arrays
from quickfit.trial.spec import RESULTS_FILE, ROWS_FILE, WEIGHTS_FILE

if TYPE_CHECKING:
    import numpy as np

# What a line ends in that no trial has written.
_NOT_OURS = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)
# More than a trial keeps of rows or weights, and than its lines take.
MAX_RESULT_BYTES = 1_000_000_000
# Where batches are seen, the nearest to the training first.
CHANNELS = ("fit", "train_on_batch", "function", "next")


@dataclass(frozen=True)
class Batch:
    """One batch: a digest per row, the small values of each row, and a rough picture of each."""

    digests: tuple[str, ...]
    small: tuple[tuple[Any, ...], ...]
    rough: tuple[tuple[float, ...], ...]
    first_row: int


@dataclass(frozen=True)
class Results:
    """The results of one trial.

    Args:
        losses: what was said of each step.
        loss_channels: where that was heard; a mean of `fit` is no loss of one batch.
        weights: a digest of all trainable weights, by step.
        batches: by where they were seen.
        folder: the trial's scratch folder, with rows and weights in full.
    """

    losses: dict[int, dict[str, float]] = field(default_factory=dict)
    weights: dict[int, str] = field(default_factory=dict)
    batches: dict[str, list[Batch]] = field(default_factory=dict)
    folder: Path = Path()
    loss_channels: set[str] = field(default_factory=set)

    @property
    def last_weights(self) -> int:
        """The last step whose weights were kept; 0 where none were."""
        return max(self.weights, default=0)

    def rows(self) -> dict[int, np.ndarray]:
        """Return the large parts of the first rows, by their number over all batches."""
        found = _arrays(self.folder / ROWS_FILE)
        return {int(name): row for name, row in found.items() if name.isdecimal()}

    def weights_at(self, step: int) -> list[np.ndarray]:
        """Return the trainable weights after a step, oldest variable first."""
        arrays = _arrays(self.folder / WEIGHTS_FILE)
        return [arrays[name] for name in sorted(arrays) if name.startswith(f"{step:06d}_")]


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with open_arrays(path, follow=False, most=MAX_RESULT_BYTES) as archive:
            return {name: archive[name] for name in getattr(archive, "files", ())}
    except DamagedArraysError:
        return {}


def read_results(folder: Path) -> Results:
    """Return what a trial kept; empty where it kept nothing."""
    found = Results(folder=folder)
    try:
        data = trust.read_regular(folder / RESULTS_FILE, MAX_RESULT_BYTES, follow=False)
    except OSError:
        return found
    row = 0
    for line in data.decode(errors="replace").splitlines():
        try:
            row = _take(found, json.loads(line), row)
        except _NOT_OURS:
            break  # the trial was ended while it wrote, or the script wrote there, too
    return found


def _take(found: Results, facts: dict[str, Any], row: int) -> int:
    if facts["kind"] == "loss":
        values = {name: float.fromhex(value) for name, value in facts["values"].items()}
        found.losses[facts["step"]] = values
        found.loss_channels.add(str(facts.get("channel", "")))
    elif facts["kind"] == "weights":
        found.weights[facts["step"]] = facts["digest"]
    elif facts["kind"] == "batch":
        batch = Batch(
            tuple(facts["digests"]), _tuples(facts["small"]), _tuples(facts["rough"]), row
        )
        found.batches.setdefault(facts["channel"], []).append(batch)
        return row + len(batch.digests)
    return row


def _tuples(rows: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row) for row in rows)

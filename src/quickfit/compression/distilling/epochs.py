"""A training epoch by epoch, each of them judged, and the best state kept."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.compression.distilling.explaining import explained
from quickfit.compression.distilling.labelled import Labelled
from quickfit.compression.distilling.scoring import Score

# Models and arrays are `Any`: Keras has no types of its own.
State = list[Any]


@dataclass(frozen=True)
class Checkpoint:
    """A model at one moment of its training.

    Args:
        what: which moment, in words.
        score: how good it was.
        state: its variables.
    """

    what: str
    score: Score
    state: State


def better(best: Checkpoint, other: Checkpoint) -> Checkpoint:
    """Return the better of two; the first where they are as good."""
    return other if other.score.beats(best.score) else best


class Training:
    """Trains one model, and remembers the best of what it was.

    Args:
        model: whose variables are trained; its own, in place.
        judge: says how good it is now.
        recalibrate: measures the statistics of its batch normalizations anew, in place; None where
            it has none.
    """

    def __init__(
        self, model: Any, judge: Callable[[], Score], recalibrate: Callable[[], object] | None
    ) -> None:
        self._model, self._judge, self._recalibrate = model, judge, recalibrate
        self.start = self._now("before training")
        self.notes: list[str] = []

    def trained(self, trainer: Any, data: Labelled, epochs: int, by: str) -> Checkpoint:
        """Train from the start, and return the best moment after it.

        Args:
            trainer: what is fitted: the model itself, or a model around its layers.
            data: for it.
            epochs: how many at most; it ends early where the loss is not finite any more.
            by: what it learns from, in words.
        """
        self.put(self.start.state)
        best, loss = self._epoch(trainer, data, 1, by)
        for epoch in range(2, epochs + 1):
            if not math.isfinite(loss):
                break
            one, loss = self._epoch(trainer, data, epoch, by)
            best = better(best, one)
        if not math.isfinite(loss):
            self.notes.append(
                f"Training on {by} was ended: the loss was {loss}. Try a smaller learning_rate."
            )
        return best

    def _epoch(self, trainer: Any, data: Labelled, epoch: int, by: str) -> tuple[Checkpoint, float]:
        """Train for one epoch; return the better moment after it, and the loss."""
        data.begin(epoch)
        with explained("The training"):
            history = trainer.fit(data.feed, epochs=1, verbose=0, shuffle=False)
        first, *others = self._moments(f"{by}, epoch {epoch}")
        for one in others:
            first = better(first, one)
        return first, float(history.history["loss"][-1])

    def put(self, state: State) -> None:
        """Give the model the variables of another moment."""
        for variable, value in zip(self._model.variables, state, strict=True):
            variable.assign(value)

    def _moments(self, what: str) -> list[Checkpoint]:
        """Return the model as it is, and with statistics that fit its weights as they are now.

        Those of a short training lag behind: they are averages over many steps.
        """
        plain = self._now(what)
        if self._recalibrate is None or not _is_finite(plain.state):
            return [plain]
        self._recalibrate()
        other = self._now(f"{what}, statistics of batch normalization measured anew")
        self.put(plain.state)
        return [plain, other]

    def _now(self, what: str) -> Checkpoint:
        state = [np.asarray(one).copy() for one in self._model.variables]
        return Checkpoint(what, self._judge(), state)


def _is_finite(state: State) -> bool:
    return all(np.isfinite(one).all() for one in state if one.dtype.kind == "f")

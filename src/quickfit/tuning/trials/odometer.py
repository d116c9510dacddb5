"""Counts the steps and samples of a training, whatever Keras does per call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Travelled:
    """How far a training has come."""

    steps: int
    samples: int

    def since(self, earlier: Travelled) -> Travelled:
        """Return the way from an earlier reading to this one."""
        return Travelled(self.steps - earlier.steps, self.samples - earlier.samples)


@dataclass(frozen=True)
class Pace:
    """What one call of the train function feeds.

    Args:
        batch: samples per step.
        steps: per call.
        epoch_samples: in one epoch; None where nobody knows.
    """

    batch: int
    steps: int
    epoch_samples: int | None


class Odometer:
    """Adds up what was trained on.

    A call runs fewer steps, and a step has fewer samples, where an epoch ends. Keras's own
    tracker of the loss counts the samples of an epoch; a model with its own `train_step` may
    leave that at zero, and older versions count steps in it: then calls are counted.

    Args:
        pace: what a call feeds when nothing is cut short.
        counted: returns what the tracker of the loss has counted in this epoch.
    """

    def __init__(self, pace: Pace, counted: Callable[[], float]) -> None:
        self._pace = pace
        self._counted = counted
        self._before = Travelled(0, 0)
        self._calls = 0

    @property
    def is_idle(self) -> bool:
        """Whether nothing was done in this epoch."""
        return self._calls == 0

    def call(self) -> None:
        """Count one call of the train function."""
        self._calls += 1

    def end_epoch(self) -> None:
        """Begin to count the next epoch."""
        self._before = self.read()
        self._calls = 0

    def read(self) -> Travelled:
        """Return all steps and samples so far; waits for the device to have done them."""
        epoch = self._epoch()
        return Travelled(self._before.steps + epoch.steps, self._before.samples + epoch.samples)

    def _epoch(self) -> Travelled:
        pace = self._pace
        steps = self._calls * pace.steps
        most = steps * pace.batch
        told = round(self._counted()) if steps else 0
        if not (steps < told <= most or (pace.batch == 1 and 0 < told <= most)):
            told = min(most, pace.epoch_samples or most)
        least_steps = steps - pace.steps + 1
        return Travelled(min(max(-(-told // pace.batch), least_steps), steps), told)

"""Pauses a training between blocks, and measures the blocks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.tuning.trials import memory
from quickfit.tuning.trials.answers import Block
from quickfit.tuning.trials.odometer import Odometer, Travelled

# After a pause caches are cold: the first moments of a block do not count.
SETTLE_S = 0.1
# Calls after the first one that tell how long a call takes: enough for a median, and no more
# than a moment of a slow model.
_ENOUGH_CALLS = 20
_FEW_CALLS = 3
_ENOUGH_S = 0.2
_TOO_LONG_S = 3.0


@dataclass(frozen=True)
class Clocks:
    """Where times come from.

    Args:
        wall: seconds that never go back.
        cpu: CPU seconds of this process, all threads.
    """

    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.process_time


class FirstCalls:
    """The first calls of a train function: one that traces and compiles, and some later ones."""

    def __init__(self) -> None:
        self._took_s: list[float] = []

    def call(self, took_s: float) -> bool:
        """Take in one call; return whether that is enough of them."""
        self._took_s.append(took_s)
        later = self._took_s[1:]
        if not later:
            return False
        long = sum(later)
        is_enough = len(later) >= _FEW_CALLS and long >= _ENOUGH_S
        return is_enough or len(later) >= _ENOUGH_CALLS or long >= _TOO_LONG_S

    @property
    def call_s(self) -> float:
        """What a later call takes."""
        return statistics.median(self._took_s[1:])

    def compile_s(self, first_batch_s: float) -> float:
        """Return what the first call took beyond a later one and beyond waiting for its data."""
        return max(self._took_s[0] - self.call_s - first_batch_s, 0.0)


@dataclass(frozen=True)
class _Mark:
    travelled: Travelled
    wall_s: float
    cpu_s: float


class BlockWatch:
    """Measures one block of steps.

    Args:
        steps: how many are wanted.
        odometer: counts them.
        clocks: where times come from.
    """

    def __init__(self, steps: int, odometer: Odometer, clocks: Clocks | None = None) -> None:
        self._steps = steps
        self._odometer = odometer
        self._clocks = clocks or Clocks()
        self._resumed_s = self._clocks.wall()
        self._began: _Mark | None = None
        self._calls = 0
        memory.forget_peak()

    def call(self, steps: int) -> Block | None:
        """Take in one call of so many steps at most; return the block when it is complete."""
        if self._began is None:
            if self._clocks.wall() - self._resumed_s >= SETTLE_S:
                self._began = self._mark()
            return None
        self._calls += steps
        return self._block(self._began) if self._calls >= self._steps else None

    def _block(self, began: _Mark) -> Block | None:
        ended = self._mark()
        way = ended.travelled.since(began.travelled)
        if way.steps < self._steps:
            self._calls = way.steps  # calls at the end of an epoch were cut short
            return None
        return Block(
            steps=way.steps,
            samples=way.samples,
            wall_s=ended.wall_s - began.wall_s,
            cpu_s=ended.cpu_s - began.cpu_s,
            peak_bytes=device_peak_bytes() or memory.peak_bytes(),
        )

    def _mark(self) -> _Mark:
        # Reading waits for the device, so it comes before the clocks.
        travelled = self._odometer.read()
        return _Mark(travelled, self._clocks.wall(), self._clocks.cpu())


def device_peak_bytes() -> int:
    """Return the most memory that was held on the first GPU, or 0 without one."""
    import tensorflow as tf

    if not tf.config.list_physical_devices("GPU"):
        return 0
    peak = int(tf.config.experimental.get_memory_info("GPU:0")["peak"])
    tf.config.experimental.reset_memory_stats("GPU:0")
    return peak


def counted_samples(model: Any) -> Callable[[], float]:  # Any: Keras tells no types
    """Return a function that reads what the model's tracker of the loss has counted."""

    def counted() -> float:
        variable = getattr(getattr(model, "_loss_tracker", None), "count", None)
        return 0.0 if variable is None else float(variable.numpy())

    return counted

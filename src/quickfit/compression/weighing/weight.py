"""What was measured of one model: how much it is, and how long it takes."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

# How a prediction is made: `model(x)` in a tf.function, `model.predict_on_batch(x)`, and a
# `.tflite` file on one thread.
CALL, PREDICT, LITERT = "call", "predict_on_batch", "litert"


@dataclass(frozen=True)
class Turn:
    """What a few calls in a row took, per call.

    Args:
        fastest_s: the shortest of them.
        median_s: the middle one.
        cpu_s: the CPU time of all threads, on average.
    """

    fastest_s: float
    median_s: float
    cpu_s: float


@dataclass(frozen=True)
class Timing:
    """How long one thing took, in turns with others.

    Args:
        turns: one per round.
    """

    turns: tuple[Turn, ...]

    @property
    def minimum_s(self) -> float:
        """The shortest call: what it takes when nobody else needs the machine."""
        return min(turn.fastest_s for turn in self.turns)

    @property
    def median_s(self) -> float:
        """The middle of the rounds: what it took on the machine as it was."""
        return statistics.median(turn.median_s for turn in self.turns)

    @property
    def cpu_s(self) -> float:
        """CPU time of one call, all threads together: more than the wall time on several cores."""
        return statistics.median(turn.cpu_s for turn in self.turns)


@dataclass(frozen=True)
class Weight:
    """What a model costs and what it is worth.

    Args:
        file_bytes: the size of its file: `.keras` without the optimizer's state, or `.tflite`.
        parameters: its weights; None for a `.tflite` file.
        weights_bytes: what these take in memory; None for a `.tflite` file.
        flops: operations for one sample; None where they are not known, as of a `.tflite` file.
        uncounted: layers whose operations are missing in `flops`.
        accuracy: what `evaluate` returned; None where nobody asked.
        step: a training step at the largest batch size; None for what cannot be trained.
        latency: how long a prediction takes, by the way it is made (`call`, `predict_on_batch`,
            `litert`) and by batch size.
        is_int8: whether a `.tflite` file computes in int8.
        for_training: whether steps count, and not predictions.
    """

    file_bytes: int
    parameters: int | None = None
    weights_bytes: int | None = None
    flops: int | None = None
    uncounted: tuple[str, ...] = ()
    accuracy: float | None = None
    step: Timing | None = None
    latency: Mapping[str, Mapping[int, Timing]] = field(default_factory=dict)
    is_int8: bool = False
    for_training: bool = False

    @property
    def step_s(self) -> float | None:
        """The shortest training step; None for what cannot be trained."""
        return None if self.step is None else self.step.minimum_s

    @property
    def latency_s(self) -> dict[int, float]:
        """The shortest prediction by batch size, in a compiled function or on LiteRT."""
        return {batch: one.minimum_s for batch, one in self.latency.get(self.way, {}).items()}

    @property
    def way(self) -> str:
        """How predictions are made where speed counts: compiled, or on LiteRT."""
        return LITERT if LITERT in self.latency else CALL

    def timing(self, batch: int) -> Timing | None:
        """Return the times that count: of a step, or of a prediction at this batch size."""
        if self.for_training:
            return self.step
        return self.latency.get(self.way, {}).get(batch)

"""What was measured of one model: how much it is, and how long it takes."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from quickfit import units
from quickfit.compression.quantizing.advice import advice_on_speed
from quickfit.errors import UsageError
from quickfit.lab.statistics import MIN_GAIN, Measured, interval

# How a prediction is made: `model(x)` in a tf.function, `model.predict_on_batch(x)`, and a
# `.tflite` file on one thread.
CALL, PREDICT, LITERT = "call", "predict_on_batch", "litert"


@dataclass(frozen=True)
class TimedTurn:
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

    turns: tuple[TimedTurn, ...]

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


def speed_up(slow: Timing, fast: Timing) -> Measured:
    """Return how many times faster the second is, with its interval over the rounds.

    The shortest call of each turn counts: others waited for somebody else's work.

    Raises:
        UsageError: they were not measured together.
    """
    if len(slow.turns) != len(fast.turns):
        raise UsageError(
            f"Times of {len(slow.turns)} and of {len(fast.turns)} rounds cannot be compared: "
            "weigh both in one call of weighed()."
        )
    pairs = zip(slow.turns, fast.turns, strict=True)
    return interval([one.fastest_s / other.fastest_s for one, other in pairs])


def remarks(weights: Mapping[str, Weight], base: str | None = None) -> tuple[str, ...]:
    """Return what a person should know before choosing: who is not faster, and what int8 brings.

    Args:
        weights: what `weighed` returned.
        base: the name of the model that the others were made from; by default the first.
    """
    base = next(iter(weights)) if base is None else base
    if base not in weights:
        raise UsageError(f"base={base!r}: there are {', '.join(map(repr, weights))}.")
    others = {name: one for name, one in weights.items() if name != base}
    slow = [_not_faster(base, name, weights) for name in others]
    return (*(text for text in slow if text), *_about_int8(weights))


def _not_faster(base: str, name: str, weights: Mapping[str, Weight]) -> str:
    """Return the sentence about a Keras model that is not faster than the base; or nothing."""
    old, new = weights[base], weights[name]
    if LITERT in new.latency or LITERT in old.latency:
        return ""
    pairs = _timing_pairs(old, new)
    gains = {what: speed_up(*pair) for what, pair in pairs.items()}
    slow = {what: gain for what, gain in gains.items() if gain.low < MIN_GAIN}
    if not slow:
        return ""
    times = ", ".join(
        f"{what}: {units.seconds(after.minimum_s)} against {units.seconds(before.minimum_s)}"
        for what, (before, after) in pairs.items()
        if what in slow
    )
    but = "".join(
        f" At {what} it is {units.factor(gain.mean)} faster."
        for what, gain in gains.items()
        if what not in slow
    )
    verdict, remark = _speed_verdict(slow, base), _operations_remark(old, new)
    return f"'{name}' is {verdict} here ({times}){remark}.{but}"


def _timing_pairs(old: Weight, new: Weight) -> dict[str, tuple[Timing, Timing]]:
    """Return the times of both by what was timed, where both have them."""
    if new.for_training:
        both = {"training step": (old.step, new.step)}
    else:
        batches = new.latency.get(new.way, {})
        both = {f"batch {batch}": (old.timing(batch), new.timing(batch)) for batch in batches}
    return {
        what: (before, after)
        for what, (before, after) in both.items()
        if before is not None and after is not None
    }


def _speed_verdict(gains: Mapping[str, Measured], base: str) -> str:
    worst = min(gains.values(), key=lambda gain: gain.mean)
    if worst.high < 1 / MIN_GAIN:
        return f"{units.factor(1 / worst.mean)} slower than '{base}'"
    return f"not measurably faster than '{base}'"


def _operations_remark(old: Weight, new: Weight) -> str:
    """Return why that may surprise: operations are not time."""
    if not old.flops or new.flops is None or new.flops >= old.flops:
        return ""
    return (
        f", although it needs only {units.share(new.flops / old.flops)} of the operations: small "
        "layers are limited by what surrounds the arithmetic"
    )


def _about_int8(weights: Mapping[str, Weight]) -> Iterator[str]:
    files = {name: one for name, one in weights.items() if LITERT in one.latency}
    plain = next((one for one in files.values() if not one.is_int8), None)
    if plain is None:
        return
    for name, one in files.items():
        if one.is_int8:
            for batch in one.latency_s:
                text = advice_on_speed(plain.latency_s[batch], one.latency_s[batch])
                yield f"'{name}', batch {batch}: {text}"

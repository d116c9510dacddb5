"""What the weights of models say about each other: how many times faster, and in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from quickfit import units
from quickfit.compression.quantizing.advising import advice_on_speed
from quickfit.compression.weighing.weight import LITERT, Timing, Weight
from quickfit.errors import UsageError
from quickfit.measuring.intervals import Measured, interval

# Less is not told as a gain: it is within what measuring on a shared machine gives.
MIN_GAIN = 1.05


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
    pairs = _pairs(old, new)
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
    return f"'{name}' is {_verdict(slow, base)} here ({times}){_although(old, new)}.{but}"


def _pairs(old: Weight, new: Weight) -> dict[str, tuple[Timing, Timing]]:
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


def _verdict(gains: Mapping[str, Measured], base: str) -> str:
    worst = min(gains.values(), key=lambda gain: gain.mean)
    if worst.high < 1 / MIN_GAIN:
        return f"{units.factor(1 / worst.mean)} slower than '{base}'"
    return f"not measurably faster than '{base}'"


def _although(old: Weight, new: Weight) -> str:
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

"""What a smaller model has to reach: "2x faster, at most 1 point"."""

from __future__ import annotations

import math
from dataclasses import dataclass

from quickfit import units
from quickfit.compression.shrinking.words import AIM_SIZE, AIM_TIME, LEAST, LOSS, parts_of, said
from quickfit.errors import UsageError

# Where nothing is said. Below a point the difference is within what another seed of the same
# training gives.
MOST_LOSS = 0.01
EXAMPLES = (
    "2x faster, at most 1 point",
    "half the size",
    "3x fewer flops, no loss",
    "under 500 kB, accuracy at least 90 %",
    "as small as possible, at most 2 points",
)
_AIMS = {AIM_TIME: "time", AIM_SIZE: "size"}


@dataclass(frozen=True)
class Demand:
    """One quantity that has to become small enough.

    Args:
        quantity: "time" (latency, or that of a training step), "size", "flops" or "parameters".
        most: what it may be: a share of the original's, or a number of it (seconds, bytes).
        is_share: which of the two.
    """

    quantity: str
    most: float
    is_share: bool = True

    def is_met(self, value: float, original: float) -> bool:
        """Tell whether a measured value is small enough."""
        most = self.most * original if self.is_share else self.most
        return value <= most * (1 + 1e-9)  # a half is a half, however it was computed

    @property
    def text(self) -> str:
        """The demand in words."""
        if not self.is_share:
            shown = {"size": units.size, "time": units.seconds}.get(self.quantity, units.count)
            return f"{self.quantity} at most {shown(self.most)}"
        how = {"time": "faster", "size": "smaller"}.get(self.quantity, f"fewer {self.quantity}")
        return f"{units.factor(1 / self.most)} {how}"


@dataclass(frozen=True)
class Target:
    """What is to be reached, and what it may cost.

    Args:
        demands: all of them have to be met; without any, the fastest or smallest is looked for.
        most_loss: the accuracy that may be lost, as a share: 0.01 is a point.
        least_accuracy: what has to be left of it, where that was said.
        aim: "time" or "size", of which as little as possible is wanted; without one, the most
            accurate of those that meet the demands, and the fastest where there are none.
    """

    demands: tuple[Demand, ...] = ()
    most_loss: float = MOST_LOSS
    least_accuracy: float | None = None
    aim: str | None = None

    @property
    def text(self) -> str:
        """The target in words."""
        parts = [demand.text for demand in self.demands]
        if self.aim is not None:
            parts.append(f"as {'fast' if self.aim == 'time' else 'small'} as possible")
        if self.least_accuracy is not None:
            parts.append(f"accuracy at least {100 * self.least_accuracy:g} %")
        if math.isfinite(self.most_loss):
            parts.append(_loss_text(self.most_loss))
        return ", ".join(parts) or "as fast as possible"

    def allows(self, accuracy: float, original: float) -> bool:
        """Tell whether an accuracy is high enough."""
        # Accuracies are fractions of whole counts: 0.99 - 0.98 must not count as more than 0.01.
        is_near = original - accuracy <= self.most_loss + 1e-9
        return is_near and accuracy >= (self.least_accuracy or 0.0) - 1e-9


def target_of(words: str | Target | None) -> Target:
    """Read a target.

    Args:
        words: demands with commas or "and" between them; None is "at most 1 point".

    Raises:
        UsageError: a part of it is not understood, or says what another one says.
    """
    if words is None or isinstance(words, Target):
        return words or Target()
    if not isinstance(words, str):
        raise UsageError(f"target={words!r}: it is words, such as {EXAMPLES[0]!r}.")
    parts = parts_of(words)
    if not parts:
        raise UsageError(f"target {words!r}: it says nothing.\n{_examples()}")
    found: dict[str, Demand | float | str] = {}
    for part in parts:
        name, value = _read(part, words)
        if name in found:
            raise UsageError(f"target {words!r}: it says twice {_MEANING[name]}.")
        found[name] = value
    return _put_together(found)


_MEANING = {
    "time": "how much time it may take",
    "size": "how much space it may take",
    "flops": "how much it may compute",
    "parameters": "how many parameters it may have",
    LOSS: "how much accuracy it may lose",
    LEAST: "how much accuracy it must have",
    "aim": "what is to be as small as possible",
}


def _put_together(found: dict[str, Demand | float | str]) -> Target:
    demands = tuple(one for one in found.values() if isinstance(one, Demand))
    numbers = {name: one for name, one in found.items() if isinstance(one, float)}
    least = numbers.get(LEAST)
    loss = numbers.get(LOSS, MOST_LOSS if least is None else math.inf)
    return Target(demands, loss, least, str(found["aim"]) if "aim" in found else None)


def _read(part: str, words: str) -> tuple[str, Demand | float | str]:
    meaning = said(part)
    if meaning is None:
        raise UsageError(f"target {words!r}: {part!r} is not understood.\n{_examples()}")
    name, value, is_share = meaning
    if name in _AIMS:
        return "aim", _AIMS[name]
    if name in (LOSS, LEAST):
        if not 0 <= value <= 1:
            raise UsageError(f"target {words!r}: {part!r}: a share is from 0 to 100 points.")
        return name, value
    if value <= 0 or (is_share and value >= 1):
        raise UsageError(
            f"target {words!r}: {part!r} asks for no less than the original has.\n{_examples()}"
        )
    return name, Demand(name, value, is_share)


def _examples() -> str:
    return "It may be: " + "; ".join(EXAMPLES) + "."


def _loss_text(most_loss: float) -> str:
    if most_loss <= 0:
        return "no loss"
    points = f"{100 * most_loss:g}"
    return f"at most {points} point{'' if points == '1' else 's'} lost"

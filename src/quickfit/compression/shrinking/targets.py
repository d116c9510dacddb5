"""What a smaller model has to reach, read from a few words: "2x faster, at most 1 point"."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from quickfit import units
from quickfit.errors import UsageError

# Where nothing is said. Below a point the difference is within what another seed of the same
# training gives.
MOST_LOSS = 0.01
EXAMPLES = (
    "2x faster, at most 1 point",
    "half the size",
    "3x fewer flops, no loss",
    "under 500 kB, accuracy at least 90 %",
)

_NUMBER = r"(\d+(?:\.\d+)?)"
_TIMES = rf"{_NUMBER} ?(?:x|×|-?times|-?fold)"
_PERCENT = rf"{_NUMBER} ?(?:%|percent)"
_SHARES = {"half": 1 / 2, "a half": 1 / 2, "a third": 1 / 3, "a quarter": 1 / 4, "a tenth": 1 / 10}
_SHARE = rf"(half|(?:a |one )?(?:half|third|quarter|tenth)|{_PERCENT})"
_QUANTITIES = {
    "size": r"(?:file )?size",
    "flops": r"(?:flops|operations|ops|macs)",
    "parameters": r"(?:parameters|params|weights)",
    "time": r"(?:latency|time|step time)",
}
_BYTES = {"b": 1, "bytes": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20}
_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_AT_MOST = r"(?:at most|under|below|less than|max|maximum|<=?|≤) ?"
_AT_LEAST = r"(?:at least|over|above|min|minimum|>=?|≥) ?"
_POINTS = r"(?:points?|pp|percentage points?|%-points?)"


@dataclass(frozen=True)
class Demand:
    """One quantity that has to become small enough.

    Args:
        quantity: "time" (latency, or that of a training step), "size", "flops" or "parameters".
        most: what it may be: a share of the original's, or a number of seconds or bytes.
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
            shown = units.size(self.most) if self.quantity == "size" else units.seconds(self.most)
            return f"{self.quantity} at most {shown}"
        how = {"time": "faster", "size": "smaller"}.get(self.quantity, f"fewer {self.quantity}")
        return f"{units.factor(1 / self.most)} {how}"


@dataclass(frozen=True)
class Target:
    """What is to be reached, and what it may cost.

    Args:
        demands: all of them have to be met; without any, the fastest or smallest is looked for.
        most_loss: the accuracy that may be lost, as a share: 0.01 is a point.
        least_accuracy: what has to be left of it, where that was said.
    """

    demands: tuple[Demand, ...] = ()
    most_loss: float = MOST_LOSS
    least_accuracy: float | None = None

    @property
    def text(self) -> str:
        """The target in words."""
        parts = [demand.text for demand in self.demands]
        if self.least_accuracy is not None:
            parts.append(f"accuracy at least {100 * self.least_accuracy:g} %")
        if math.isfinite(self.most_loss):
            parts.append(_loss_text(self.most_loss))
        return ", ".join(parts)

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
    parts = [part for part in re.split(r",|;|\band\b|&", words.lower()) if part.strip()]
    if not parts:
        raise UsageError(f"target {words!r}: it says nothing.\n{_examples()}")
    found: dict[str, Demand | float] = {}
    for part in parts:
        name, value = _read(" ".join(part.split()), words)
        if name in found:
            raise UsageError(f"target {words!r}: it says twice how much {_MEANING[name]}.")
        found[name] = value
    demands = tuple(one for one in found.values() if isinstance(one, Demand))
    least = found.get("least")
    usual = MOST_LOSS if least is None else math.inf
    loss = found.get("loss", usual)
    assert not isinstance(loss, Demand)
    assert not isinstance(least, Demand)
    return Target(demands, loss, least)


_MEANING = {
    "time": "time it may take",
    "size": "space it may take",
    "flops": "it may compute",
    "parameters": "parameters it may have",
    "loss": "accuracy it may lose",
    "least": "accuracy it must have",
}


def _read(part: str, words: str) -> tuple[str, Demand | float]:
    for pattern, meaning in _CLAUSES:
        match = re.fullmatch(pattern, part)
        if match:
            name, value = meaning(match)
            _check(name, value, part, words)
            return name, value
    raise UsageError(f"target {words!r}: {part!r} is not understood.\n{_examples()}")


def _check(name: str, value: Demand | float, part: str, words: str) -> None:
    if isinstance(value, Demand):
        if value.most > 0 and not (value.is_share and value.most >= 1):
            return
        raise UsageError(
            f"target {words!r}: {part!r} asks for no less than the original has.\n{_examples()}"
        )
    if not 0 <= value <= 1:
        raise UsageError(f"target {words!r}: {part!r}: {_MEANING[name]} is from 0 to 100 points.")


def _examples() -> str:
    return "It may be: " + "; ".join(EXAMPLES) + "."


def _loss_text(most_loss: float) -> str:
    if most_loss <= 0:
        return "no loss"
    points = f"{100 * most_loss:g}"
    return f"at most {points} point{'' if points == '1' else 's'} lost"


def _inverse(number: str) -> float:
    return 1 / float(number) if float(number) else math.inf


def _share(text: str) -> float:
    word = re.sub(r"^one ", "a ", text)
    if word in _SHARES:
        return _SHARES[word]
    if f"a {word}" in _SHARES:
        return _SHARES[f"a {word}"]
    return float(re.match(_NUMBER, text)[1]) / 100  # type: ignore[index]  # as the clause says


_Meaning = Callable[[re.Match[str]], tuple[str, Demand | float]]


def _demand(
    name: str, most: Callable[[re.Match[str]], float], *, is_share: bool = True
) -> _Meaning:
    return lambda match: (name, Demand(name, most(match), is_share))


def _clauses() -> list[tuple[str, _Meaning]]:
    clauses: list[tuple[str, _Meaning]] = [
        (rf"{_TIMES} (?:faster|as fast|the speed|speed-?up)", _demand("time", _times)),
        (r"twice as fast|twice the speed|double the speed", _demand("time", lambda _: 0.5)),
        (rf"{_PERCENT} faster", _demand("time", lambda m: 1 / (1 + float(m[1]) / 100))),
        (rf"{_TIMES} smaller", _demand("size", _times)),
        (rf"{_PERCENT} smaller", _demand("size", lambda m: 1 - float(m[1]) / 100)),
        (rf"{_AT_MOST}{_NUMBER} ?({'|'.join(_BYTES)})", _demand("size", _bytes, is_share=False)),
        (rf"{_AT_MOST}{_NUMBER} ?({'|'.join(_SECONDS)})", _demand("time", _time, is_share=False)),
        (r"no loss|lossless|without loss|at no loss", lambda _: ("loss", 0.0)),
        (
            rf"(?:loses? |losing )?{_AT_MOST}{_NUMBER} ?(?:{_POINTS}|%|percent)(?: lost| loss)?",
            lambda m: ("loss", float(m[1]) / 100),
        ),
        (rf"(?:accuracy )?{_AT_LEAST}{_PERCENT}(?: accuracy)?", lambda m: ("least", _ratio(m))),
        (rf"accuracy {_AT_LEAST}{_NUMBER}", lambda m: ("least", float(m[1]))),
    ]
    for name, word in _QUANTITIES.items():
        clauses += [
            (rf"{_SHARE} (?:of )?(?:the )?{word}", _demand(name, lambda m: _share(m[1]))),
            (rf"{_TIMES} (?:fewer|less) {word}", _demand(name, _times)),
            (rf"{_PERCENT} (?:fewer|less) {word}", _demand(name, lambda m: 1 - _ratio(m))),
        ]
    return clauses


def _times(match: re.Match[str]) -> float:
    return _inverse(match[1])


def _ratio(match: re.Match[str]) -> float:
    return float(match[1]) / 100


def _bytes(match: re.Match[str]) -> float:
    return float(match[1]) * _BYTES[match[2]]


def _time(match: re.Match[str]) -> float:
    return float(match[1]) * _SECONDS[match[2]]


_CLAUSES = _clauses()

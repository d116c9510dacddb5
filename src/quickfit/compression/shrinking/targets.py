"""What a smaller model has to reach, read from words: "2x faster, at most 1 point"."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from quickfit import units
from quickfit.errors import UsageError

# What a clause says: the name of what it is about, what it may be, and whether that is a share.
ClauseMeaning = tuple[str, float, bool]
LOSS, LEAST, AIM_TIME, AIM_SIZE = "loss", "least", "aim time", "aim size"

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = r"(\d+(?:\.\d+)?)"
_TIMES = rf"(?:at least |over |more than )?{_NUMBER} ?(?:x|×|-?times|-?fold)"
_PERCENT = rf"{_NUMBER} ?(?:%|percent)"
_AT_MOST = (
    r"(?:at most|under|below|(?:less|smaller|faster|fewer) than|(?:no|not) more than|up to|within"
    r"|max(?:imum)?|<=?|≤) ?"
)
_AT_LEAST = r"(?:at least|over|above|more than|min(?:imum)?|>=?|≥) ?"
_SHARES = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "tenth": 1 / 10}
_SHARE = rf"((?:a )?(?:half|third|quarter|tenth)|1/\d+|{_PERCENT})"
_QUANTITIES = {
    "size": r"(?:file )?(?:size|memory|space)",
    "flops": r"(?:flops|operations|ops|macs)",
    "parameters": r"(?:parameters|params|weights)",
    "time": r"(?:latency|time|step time)",
}
_BYTES = {"b": 1, "bytes": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20}
_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
_COUNTS = {
    "": 1.0,
    "k": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "million": 1e6,
    "g": 1e9,
    "billion": 1e9,
}
_POINTS = r"(?:points?|pp|percentage points?|%-points?)"
_OF_ACCURACY = r"(?: (?:of |in )?(?:the )?accuracy)?(?: lost| loss| drop| worse| less accurate)?"
_LOSING = r"(?:(?:an? )?(?:accuracy )?(?:loses?|losing|loss|drops?)(?: of)? )?"


def target_clauses(words: str) -> list[str]:
    """Return the clauses of a target, written in one way: lower case, numbers in digits."""
    text = re.sub(r"(\d),(\d{3})(?!\d)", r"\1\2", words.lower())
    text = re.sub(r"(\d),(\d)", r"\1.\2", text)  # as most of Europe writes it
    text = re.sub(rf"\bone (?={'|'.join(_SHARES)})", "a ", text)
    for number, word in enumerate(_NUMBERS, start=1):
        text = re.sub(rf"\b{word}\b", str(number), text)
    parts = re.split(r",|;|\band\b|\bwith\b|&", text)
    return [" ".join(part.split()) for part in parts if part.strip()]


def clause_meaning(part: str) -> ClauseMeaning | None:
    """Return what a clause says; None where it is not understood."""
    for pattern, meaning in _CLAUSES:
        match = re.fullmatch(pattern, part)
        if match:
            return meaning(match)
    return None


_Meaning = Callable[[re.Match[str]], ClauseMeaning]


def _clause_about(
    name: str, most: Callable[[re.Match[str]], float], *, is_share: bool = True
) -> _Meaning:
    return lambda match: (name, most(match), is_share)


def _all_clauses() -> list[tuple[str, _Meaning]]:
    clauses = [*_speed_and_size_clauses(), *_accuracy_clauses(), *_aim_clauses()]
    for name, word in _QUANTITIES.items():
        clauses += _quantity_clauses(name, word)
    return clauses


def _speed_and_size_clauses() -> list[tuple[str, _Meaning]]:
    more = r"(?:at least )?"
    size, time = (rf"(?:{_QUANTITIES[name]} )?" for name in ("size", "time"))
    return [
        (
            rf"{_TIMES} (?:faster|as fast|(?:the )?speed|speed-?up)",
            _clause_about("time", _times_faster),
        ),
        (r"twice as fast|(?:twice|double) the speed", _clause_about("time", lambda _: 0.5)),
        (rf"{more}{_PERCENT} faster", _clause_about("time", lambda m: 1 / (1 + _ratio_number(m)))),
        (rf"{_TIMES} smaller", _clause_about("size", _times_faster)),
        (rf"{more}{_PERCENT} smaller", _clause_about("size", lambda m: 1 - _ratio_number(m))),
        (
            rf"{size}{_AT_MOST}{_NUMBER} ?({'|'.join(_BYTES)})",
            _clause_about("size", lambda m: float(m[1]) * _BYTES[m[2]], is_share=False),
        ),
        (
            rf"{time}{_AT_MOST}{_NUMBER} ?({'|'.join(_SECONDS)})",
            _clause_about("time", lambda m: float(m[1]) * _SECONDS[m[2]], is_share=False),
        ),
    ]


def _accuracy_clauses() -> list[tuple[str, _Meaning]]:
    nothing = (
        r"lossless|(?:at )?no (?:accuracy )?(?:loss|drop)|without (?:accuracy )?loss"
        r"|without losing (?:any )?accuracy|(?:the )?same accuracy"
    )
    return [
        (f"(?:{nothing})(?: of accuracy| in accuracy)?", _clause_about(LOSS, lambda _: 0.0)),
        (
            rf"{_LOSING}(?:{_AT_MOST})?{_NUMBER} ?{_POINTS}{_OF_ACCURACY}",
            _clause_about(LOSS, _ratio_number),
        ),
        (rf"{_LOSING}{_AT_MOST}{_PERCENT}{_OF_ACCURACY}", _clause_about(LOSS, _ratio_number)),
        (
            rf"(?:accuracy )?{_AT_LEAST}{_PERCENT}(?: accuracy)?",
            _clause_about(LEAST, _ratio_number),
        ),
        (rf"accuracy {_AT_LEAST}{_NUMBER}", _clause_about(LEAST, lambda m: float(m[1]))),
        (rf"{_AT_LEAST}{_NUMBER} accuracy", _clause_about(LEAST, lambda m: float(m[1]))),
    ]


def _aim_clauses() -> list[tuple[str, _Meaning]]:
    return [
        (
            r"(?:the )?(?:faster|fastest)|as fast as possible",
            _clause_about(AIM_TIME, lambda _: 0.0),
        ),
        (
            r"(?:the )?(?:smaller|smallest)|as small as possible",
            _clause_about(AIM_SIZE, lambda _: 0.0),
        ),
    ]


def _quantity_clauses(name: str, word: str) -> list[tuple[str, _Meaning]]:
    found: list[tuple[str, _Meaning]] = [
        (
            rf"(?:{_AT_MOST})?{_SHARE} (?:of )?(?:the )?{word}",
            _clause_about(name, lambda m: _share_number(m[1])),
        ),
        (rf"{_TIMES} (?:fewer|less) {word}", _clause_about(name, _times_faster)),
        (
            rf"(?:at least )?{_PERCENT} (?:fewer|less) {word}",
            _clause_about(name, lambda m: 1 - _ratio_number(m)),
        ),
    ]
    if name in ("flops", "parameters"):
        number = rf"(?:{_AT_MOST}){_NUMBER} ?({'|'.join(_COUNTS)}) ?{word}"
        count = _clause_about(name, lambda m: float(m[1]) * _COUNTS[m[2]], is_share=False)
        found.append((number, count))
    return found


def _share_number(text: str) -> float:
    if text.startswith("1/"):
        return _inverse_of(text[2:])
    word = text.removeprefix("a ")
    if word in _SHARES:
        return _SHARES[word]
    return float(re.match(_NUMBER, text)[1]) / 100  # type: ignore[index]  # as the clause says


def _inverse_of(number: str) -> float:
    return 1 / float(number) if float(number) else math.inf


def _times_faster(match: re.Match[str]) -> float:
    return _inverse_of(match[1])


def _ratio_number(match: re.Match[str]) -> float:
    return float(match[1]) / 100


_CLAUSES = _all_clauses()


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
    parts = target_clauses(words)
    if not parts:
        raise UsageError(f"target {words!r}: it says nothing.\n{_target_examples()}")
    found: dict[str, Demand | float | str] = {}
    for part in parts:
        name, value = _read_clause(part, words)
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


def _read_clause(part: str, words: str) -> tuple[str, Demand | float | str]:
    meaning = clause_meaning(part)
    if meaning is None:
        raise UsageError(f"target {words!r}: {part!r} is not understood.\n{_target_examples()}")
    name, value, is_share = meaning
    if name in _AIMS:
        return "aim", _AIMS[name]
    if name in (LOSS, LEAST):
        if not 0 <= value <= 1:
            raise UsageError(f"target {words!r}: {part!r}: a share is from 0 to 100 points.")
        return name, value
    if value <= 0 or (is_share and value >= 1):
        raise UsageError(
            f"target {words!r}: {part!r} asks for no less than the original has.\n"
            f"{_target_examples()}"
        )
    return name, Demand(name, value, is_share)


def _target_examples() -> str:
    return "It may be: " + "; ".join(EXAMPLES) + "."


def _loss_text(most_loss: float) -> str:
    if most_loss <= 0:
        return "no loss"
    points = f"{100 * most_loss:g}"
    return f"at most {points} point{'' if points == '1' else 's'} lost"

"""The words of a target: "at least 2x faster, losing at most one point", clause by clause."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

# What a clause says: the name of what it is about, what it may be, and whether that is a share.
Said = tuple[str, float, bool]
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


def parts_of(words: str) -> list[str]:
    """Return the clauses of a target, written in one way: lower case, numbers in digits."""
    text = re.sub(r"(\d),(\d{3})(?!\d)", r"\1\2", words.lower())
    text = re.sub(r"(\d),(\d)", r"\1.\2", text)  # as most of Europe writes it
    text = re.sub(rf"\bone (?={'|'.join(_SHARES)})", "a ", text)
    for number, word in enumerate(_NUMBERS, start=1):
        text = re.sub(rf"\b{word}\b", str(number), text)
    parts = re.split(r",|;|\band\b|\bwith\b|&", text)
    return [" ".join(part.split()) for part in parts if part.strip()]


def said(part: str) -> Said | None:
    """Return what a clause says; None where it is not understood."""
    for pattern, meaning in _CLAUSES:
        match = re.fullmatch(pattern, part)
        if match:
            return meaning(match)
    return None


_Meaning = Callable[[re.Match[str]], Said]


def _about(name: str, most: Callable[[re.Match[str]], float], *, is_share: bool = True) -> _Meaning:
    return lambda match: (name, most(match), is_share)


def _clauses() -> list[tuple[str, _Meaning]]:
    clauses = [*_of_speed_and_size(), *_of_accuracy(), *_of_aims()]
    for name, word in _QUANTITIES.items():
        clauses += _of_quantity(name, word)
    return clauses


def _of_speed_and_size() -> list[tuple[str, _Meaning]]:
    more = r"(?:at least )?"
    size, time = (rf"(?:{_QUANTITIES[name]} )?" for name in ("size", "time"))
    return [
        (rf"{_TIMES} (?:faster|as fast|(?:the )?speed|speed-?up)", _about("time", _times)),
        (r"twice as fast|(?:twice|double) the speed", _about("time", lambda _: 0.5)),
        (rf"{more}{_PERCENT} faster", _about("time", lambda m: 1 / (1 + _ratio(m)))),
        (rf"{_TIMES} smaller", _about("size", _times)),
        (rf"{more}{_PERCENT} smaller", _about("size", lambda m: 1 - _ratio(m))),
        (
            rf"{size}{_AT_MOST}{_NUMBER} ?({'|'.join(_BYTES)})",
            _about("size", lambda m: float(m[1]) * _BYTES[m[2]], is_share=False),
        ),
        (
            rf"{time}{_AT_MOST}{_NUMBER} ?({'|'.join(_SECONDS)})",
            _about("time", lambda m: float(m[1]) * _SECONDS[m[2]], is_share=False),
        ),
    ]


def _of_accuracy() -> list[tuple[str, _Meaning]]:
    nothing = (
        r"lossless|(?:at )?no (?:accuracy )?(?:loss|drop)|without (?:accuracy )?loss"
        r"|without losing (?:any )?accuracy|(?:the )?same accuracy"
    )
    return [
        (f"(?:{nothing})(?: of accuracy| in accuracy)?", _about(LOSS, lambda _: 0.0)),
        (rf"{_LOSING}(?:{_AT_MOST})?{_NUMBER} ?{_POINTS}{_OF_ACCURACY}", _about(LOSS, _ratio)),
        (rf"{_LOSING}{_AT_MOST}{_PERCENT}{_OF_ACCURACY}", _about(LOSS, _ratio)),
        (rf"(?:accuracy )?{_AT_LEAST}{_PERCENT}(?: accuracy)?", _about(LEAST, _ratio)),
        (rf"accuracy {_AT_LEAST}{_NUMBER}", _about(LEAST, lambda m: float(m[1]))),
        (rf"{_AT_LEAST}{_NUMBER} accuracy", _about(LEAST, lambda m: float(m[1]))),
    ]


def _of_aims() -> list[tuple[str, _Meaning]]:
    return [
        (r"(?:the )?(?:faster|fastest)|as fast as possible", _about(AIM_TIME, lambda _: 0.0)),
        (r"(?:the )?(?:smaller|smallest)|as small as possible", _about(AIM_SIZE, lambda _: 0.0)),
    ]


def _of_quantity(name: str, word: str) -> list[tuple[str, _Meaning]]:
    found: list[tuple[str, _Meaning]] = [
        (rf"(?:{_AT_MOST})?{_SHARE} (?:of )?(?:the )?{word}", _about(name, lambda m: _share(m[1]))),
        (rf"{_TIMES} (?:fewer|less) {word}", _about(name, _times)),
        (rf"(?:at least )?{_PERCENT} (?:fewer|less) {word}", _about(name, lambda m: 1 - _ratio(m))),
    ]
    if name in ("flops", "parameters"):
        number = rf"(?:{_AT_MOST}){_NUMBER} ?({'|'.join(_COUNTS)}) ?{word}"
        count = _about(name, lambda m: float(m[1]) * _COUNTS[m[2]], is_share=False)
        found.append((number, count))
    return found


def _share(text: str) -> float:
    if text.startswith("1/"):
        return _inverse(text[2:])
    word = text.removeprefix("a ")
    if word in _SHARES:
        return _SHARES[word]
    return float(re.match(_NUMBER, text)[1]) / 100  # type: ignore[index]  # as the clause says


def _inverse(number: str) -> float:
    return 1 / float(number) if float(number) else math.inf


def _times(match: re.Match[str]) -> float:
    return _inverse(match[1])


def _ratio(match: re.Match[str]) -> float:
    return float(match[1]) / 100


_CLAUSES = _clauses()

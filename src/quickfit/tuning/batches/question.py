"""What a search for a batch size is asked, checked before anything is started."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, cast

from quickfit.errors import UsageError

MODES = {
    "throughput": "the smallest batch within 10 % of the most samples per second",
    "max": "the largest batch that fits in memory",
}
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


@dataclass(frozen=True)
class Question:
    """What is looked for.

    Args:
        mode: a name of `MODES`.
        limit: no batch is larger than this.
        effective: samples per update of the weights that the user wants.
        sizes: the only ones to try, rising.
        budget_s: how long all of it may take.
        memory_limit_bytes: what one training may hold; None where it is all that is free.
    """

    mode: str = "throughput"
    limit: int | None = None
    effective: int | None = None
    sizes: tuple[int, ...] | None = None
    budget_s: float = 90.0
    memory_limit_bytes: int | None = None

    def most(self, samples: int | None) -> int | None:
        """Return the largest batch that may be tried on data of so many samples."""
        limits = [n for n in (self.limit, self.effective, samples) if n is not None]
        return min(limits) if limits else None


def asked(
    *,
    mode: object,
    limit: object,
    effective: object,
    sizes: object,
    budget_s: object,
    memory_limit: object,
) -> Question:
    """Return the question that the arguments of `find_batch_size` ask.

    Raises:
        UsageError: one of them is not what it should be.
    """
    if not isinstance(mode, str) or mode not in MODES:
        choices = ", or ".join(f"{name!r} ({words})" for name, words in MODES.items())
        raise UsageError(f"find_batch_size(mode={mode!r}): give {choices}")
    question = Question(
        mode=mode,
        limit=_whole("limit", limit, "the largest batch to try"),
        effective=_whole("effective", effective, "the samples you want per update"),
        sizes=_sizes(sizes),
        budget_s=_budget_s(budget_s),
        memory_limit_bytes=_bytes(memory_limit),
    )
    most = question.most(None)
    if question.sizes and most is not None and question.sizes[0] > most:
        name = "limit" if most == question.limit else "effective"
        raise UsageError(
            f"find_batch_size(sizes={list(question.sizes)}, {name}={most}): all sizes are above "
            f"{name}. Give smaller sizes, or a larger {name}"
        )
    return question


def _whole(name: str, value: object, meaning: str) -> int | None:
    if value is None:
        return None
    number = _index(value)
    if number is None or number < 1:
        raise UsageError(
            f"find_batch_size({name}={value!r}): give {meaning}, a whole number from 1"
        )
    return number


def _index(value: object) -> int | None:
    """Return a whole number of any library as Python's; `True` is none."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(cast(SupportsIndex, value))
    except TypeError:
        return None


def _sizes(sizes: object) -> tuple[int, ...] | None:
    if sizes is None:
        return None
    told = list(sizes) if isinstance(sizes, Iterable) and not isinstance(sizes, str) else []
    numbers = [_index(size) for size in told]
    good = sorted({number for number in numbers if number is not None and number >= 1})
    if not numbers or len(good) < len(set(numbers)):
        raise UsageError(
            f"find_batch_size(sizes={sizes!r}): give batch sizes to try, whole numbers from 1, "
            "for example sizes=[16, 32, 64]"
        )
    return tuple(good)


def _budget_s(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(float(cast(float, value))) or cast(float, value) <= 0:
        raise UsageError(
            f"find_batch_size(budget_s={value!r}): give the seconds that the search may take, "
            "for example budget_s=90"
        )
    return float(cast(float, value))


def _bytes(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, str):
        told = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
        unit = _UNITS.get(told[2].upper()) if told else None
        number = int(float(told[1]) * unit) if told and unit else None
    elif isinstance(value, float) and math.isfinite(value):
        number = int(value)
    else:
        number = _index(value)
    if number is None or number < 1:
        raise UsageError(
            f"find_batch_size(memory_limit={value!r}): give the bytes that a training may hold, "
            "for example memory_limit=4_000_000_000 or memory_limit='4 GB'"
        )
    return number

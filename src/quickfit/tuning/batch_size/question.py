"""What a search for a batch size is asked, and the memory it may take."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, cast

from quickfit import units
from quickfit.errors import ModelError, UsageError
from quickfit.machine import free_memory_bytes

SEARCH_MODES = {
    "throughput": "the smallest batch within 10 % of the most samples per second",
    "max": "the largest batch that fits in memory",
}
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


@dataclass(frozen=True)
class BatchQuestion:
    """What is looked for.

    Args:
        mode: a name of `MODES`.
        limit: no batch is larger than this.
        effective: samples per update of the weights that the user wants.
        sizes: the only ones to try, rising.
        budget_s: how long all of it may take.
        memory_limit_bytes: what one training may hold; None where it is all that is free.
        updates_limit: no batch is larger, so that an epoch keeps enough updates; None where that
            is not known, or where sizes are asked for.
    """

    mode: str = "throughput"
    limit: int | None = None
    effective: int | None = None
    sizes: tuple[int, ...] | None = None
    budget_s: float = 90.0
    memory_limit_bytes: int | None = None
    updates_limit: int | None = None

    @property
    def is_judged(self) -> bool:
        """Whether quickfit judges how large a batch may be: nothing else was asked for."""
        return self.mode == "throughput" and self.sizes is None and self.effective is None

    def most(self, samples: int | None) -> int | None:
        """Return the largest batch that may be tried on data of so many samples."""
        limits = [
            n for n in (self.limit, self.effective, self.updates_limit, samples) if n is not None
        ]
        return min(limits) if limits else None


def read_question(
    *,
    mode: object,
    limit: object,
    effective: object,
    sizes: object,
    budget_s: object,
    memory_limit: object,
) -> BatchQuestion:
    """Return the question that the arguments of `find_batch_size` ask.

    Raises:
        UsageError: one of them is not what it should be.
    """
    if not isinstance(mode, str) or mode not in SEARCH_MODES:
        choices = ", or ".join(f"{name!r} ({words})" for name, words in SEARCH_MODES.items())
        raise UsageError(f"find_batch_size(mode={mode!r}): give {choices}")
    question = BatchQuestion(
        mode=mode,
        limit=_check_whole("limit", limit, "the largest batch to try"),
        effective=_check_whole("effective", effective, "the samples you want per update"),
        sizes=_check_sizes(sizes),
        budget_s=_check_budget_s(budget_s),
        memory_limit_bytes=_check_bytes(memory_limit),
    )
    most = question.most(None)
    if question.sizes and most is not None and question.sizes[0] > most:
        name = "limit" if most == question.limit else "effective"
        raise UsageError(
            f"find_batch_size(sizes={list(question.sizes)}, {name}={most}): all sizes are above "
            f"{name}. Give smaller sizes, or a larger {name}"
        )
    return question


def _check_whole(name: str, value: object, meaning: str) -> int | None:
    if value is None:
        return None
    number = _as_index(value)
    if number is None or number < 1:
        raise UsageError(
            f"find_batch_size({name}={value!r}): give {meaning}, a whole number from 1"
        )
    return number


def _as_index(value: object) -> int | None:
    """Return a whole number of any library as Python's; `True` is none."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(cast(SupportsIndex, value))
    except TypeError:
        return None


def _check_sizes(sizes: object) -> tuple[int, ...] | None:
    if sizes is None:
        return None
    told = list(sizes) if isinstance(sizes, Iterable) and not isinstance(sizes, str) else []
    numbers = [_as_index(size) for size in told]
    good = sorted({number for number in numbers if number is not None and number >= 1})
    if not numbers or len(good) < len(set(numbers)):
        raise UsageError(
            f"find_batch_size(sizes={sizes!r}): give batch sizes to try, whole numbers from 1, "
            "for example sizes=[16, 32, 64]"
        )
    return tuple(good)


def _check_budget_s(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(float(cast(float, value))) or cast(float, value) <= 0:
        raise UsageError(
            f"find_batch_size(budget_s={value!r}): give the seconds that the search may take, "
            "for example budget_s=90"
        )
    return float(cast(float, value))


def _check_bytes(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, str):
        told = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
        unit = _UNITS.get(told[2].upper()) if told else None
        number = int(float(told[1]) * unit) if told and unit else None
    elif isinstance(value, float) and math.isfinite(value):
        number = int(value)
    else:
        number = _as_index(value)
    if number is None or number < 1:
        raise UsageError(
            f"find_batch_size(memory_limit={value!r}): give the bytes that a training may hold, "
            "for example memory_limit=4_000_000_000 or memory_limit='4 GB'"
        )
    return number


# The rest of the machine goes on living, and free memory is an estimate of the system.
FREE_SHARE = 0.8
# What Python and TensorFlow hold before there is a model, and the least that a model needs.
BASE_BYTES, MODEL_BYTES = 600_000_000, 100_000_000
# Address space that each core's threads reserve for stacks and small allocations, and do not use.
RESERVED_BYTES, FREE_CORES = 150_000_000, 4


@dataclass(frozen=True)
class MemoryRoom:
    """Memory for trials.

    Args:
        each_bytes: one training may hold.
        all_bytes: all trials that are alive at the same time.
        told: where the limit comes from, for people.
    """

    each_bytes: float
    all_bytes: float
    told: str

    def growth_bytes(self, cores: int) -> int:
        """Return the address space that a child may take beyond Python and TensorFlow.

        It is the net under the line of memory, for models whose memory jumps.
        """
        reserved = RESERVED_BYTES * max(cores - FREE_CORES, 0)
        return int(self.each_bytes - BASE_BYTES) + reserved


def training_room(limit_bytes: int | None, free_bytes: int | None = None) -> MemoryRoom:
    """Return the memory that a training may hold.

    Args:
        limit_bytes: that the user gave.
        free_bytes: what can be had now; it is looked up where it is not given.

    Raises:
        UsageError: the limit is less than any training takes.
        ModelError: so is what is free.
    """
    least = BASE_BYTES + MODEL_BYTES
    if limit_bytes is not None and limit_bytes < least:
        raise UsageError(
            f"find_batch_size(memory_limit={limit_bytes}): {units.size(limit_bytes)} are too "
            f"little; Python and TensorFlow alone hold about {units.size(BASE_BYTES)}. Give at "
            f"least {least}"
        )
    free = free_memory_bytes() if free_bytes is None else free_bytes
    usable = free * FREE_SHARE
    if usable < least:
        raise ModelError(
            f"{units.size(free)} of memory are free, and Python and TensorFlow alone hold about "
            f"{units.size(BASE_BYTES)}. End other programs, or use a machine with more memory"
        )
    told = f"{units.size(usable)} (80 % of the {units.size(free)} that are free)"
    if limit_bytes is None:
        return MemoryRoom(usable, usable, told)
    if limit_bytes <= usable:
        return MemoryRoom(limit_bytes, usable, f"{units.size(limit_bytes)} (memory_limit)")
    return MemoryRoom(usable, usable, f"{told}; memory_limit is {units.size(limit_bytes)}")

"""How much memory a training may take: what is free, also in the tightest container around us."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit import units
from quickfit.capacity import free_memory_bytes
from quickfit.errors import ModelError, UsageError

# The rest of the machine goes on living, and free memory is an estimate of the system.
FREE_SHARE = 0.8
# What Python and TensorFlow hold before there is a model, and the least that a model needs.
BASE_BYTES, MODEL_BYTES = 600_000_000, 100_000_000
# Address space that each core's threads reserve for stacks and small allocations, and do not use.
RESERVED_BYTES, FREE_CORES = 150_000_000, 4


@dataclass(frozen=True)
class Room:
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


def room(limit_bytes: int | None, free_bytes: int | None = None) -> Room:
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
        return Room(usable, usable, told)
    if limit_bytes <= usable:
        return Room(limit_bytes, usable, f"{units.size(limit_bytes)} (memory_limit)")
    return Room(usable, usable, f"{told}; memory_limit is {units.size(limit_bytes)}")

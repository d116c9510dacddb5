"""What trainings take of the machine: memory from inside and outside, and CPU time of others."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psutil

from quickfit.lab.child_side import status_bytes
from quickfit.machine import whole_cores


def held_bytes() -> int:
    """Return the memory this process holds now."""
    return status_bytes("VmRSS")


def forget_peak() -> None:
    """Begin to look for the peak anew, where the system allows it."""
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak_bytes() -> int:
    """Return the most memory this process held since `forget_peak`."""
    return status_bytes("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def step_bytes(model: Any, batch: int) -> int:  # Any: Keras tells no types
    """Return the memory of all outputs of layers, which are kept until the gradients are made.

    Of a subclassed model Keras knows no shapes: then it is 0, and nothing follows from it.
    """
    tensors = {id(one): one for layer in _all_layers(model) for one in _layer_outputs(layer)}
    return sum(_tensor_bytes(one, batch) for one in tensors.values())


def _all_layers(model: Any) -> Iterator[Any]:
    for layer in getattr(model, "layers", ()):
        yield layer
        yield from _all_layers(layer)


def _layer_outputs(layer: Any) -> list[Any]:
    import keras

    # A layer that was called nowhere or in several places has no single output.
    with suppress(AttributeError, ValueError, RuntimeError):
        return list(keras.tree.flatten(layer.output))
    return []


def _tensor_bytes(tensor: Any, batch: int) -> int:
    shape = getattr(tensor, "shape", None)
    if shape is None or getattr(tensor, "dtype", None) in (None, "string"):
        return 0
    # A length that differs from batch to batch is at least one.
    free = [batch, *[1] * len(shape)]
    numbers = math.prod(known or least for known, least in zip(shape, free, strict=False))
    return numbers * _dtype_bytes(tensor.dtype)


def _dtype_bytes(dtype: Any) -> int:
    """Return the bytes of one number."""
    digits = "".join(letter for letter in str(dtype) if letter.isdigit())
    return max(int(digits or 8) // 8, 1)


_UNIT_BYTES = 1024


@dataclass(frozen=True)
class HeldMemory:
    """What a child held at most.

    Args:
        peak_bytes: memory that it used; 0 where nobody could look.
        limit_share: of what it was allowed to ask for, how much it had; 0 without a limit.
    """

    peak_bytes: int = 0
    limit_share: float = 0.0


class MemoryWatch:
    """Looks from time to time at the memory of a child.

    Args:
        pid: its number.
        limit_bytes: by how much it may grow from the moment it sets its limit; None for no limit.
    """

    def __init__(self, pid: int, limit_bytes: int | None) -> None:
        self._pid = pid
        self._limit_bytes = limit_bytes
        self.held = HeldMemory()

    def look(self) -> None:
        """Note what the child holds now; one that has ended holds nothing any more."""
        sizes = self._sizes()
        self.held = HeldMemory(
            max(self.held.peak_bytes, sizes.get("VmHWM", 0)),
            max(self.held.limit_share, self._share(sizes.get("VmData", 0))),
        )

    def _sizes(self) -> dict[str, int]:
        with suppress(OSError, ValueError), open(f"/proc/{self._pid}/status") as file:
            lines = (line.split() for line in file if line.startswith(("VmHWM:", "VmData:")))
            return {words[0].rstrip(":"): int(words[1]) * _UNIT_BYTES for words in lines}
        return {}

    def _share(self, asked_bytes: int) -> float:
        if not self._limit_bytes or not asked_bytes or not hasattr(resource, "prlimit"):
            return 0.0
        with suppress(OSError):
            most, _ = resource.prlimit(self._pid, resource.RLIMIT_DATA)
            if most != resource.RLIM_INFINITY:
                return max(1 - (most - asked_bytes) / self._limit_bytes, 0.0)
        return 0.0


# The system counts CPU time in ticks of 10 ms; over less than this they say nothing.
MIN_S = 0.25
# From here on, measurements on this machine are told to be disturbed.
BUSY_CORES = 0.25
# From this share of our cores on, what was chosen by time is uncertain.
HIGH_SHARE = 0.5


class OtherLoad:
    """Adds up the CPU time that was not ours, over the blocks of all trials.

    Args:
        busy_s: the CPU time of everything on the machine so far.
        cores: that we may use.
        elsewhere: other cores of the machine, which are not in our way.
    """

    def __init__(
        self,
        busy_s: Callable[[], float] | None = None,
        cores: int | None = None,
        elsewhere: int | None = None,
    ) -> None:
        self._busy_s = busy_s or machine_busy_s
        self.cores = cores if cores is not None else whole_cores()
        all_cores = os.cpu_count() or self.cores
        self._elsewhere = elsewhere if elsewhere is not None else max(all_cores - self.cores, 0)
        self._wall_s = 0.0
        self._foreign_s = 0.0
        self._began_s = 0.0

    def begin(self) -> None:
        """Note where a block begins."""
        self._began_s = self._busy_s()

    def end(self, *, wall_s: float, own_s: float) -> None:
        """Note its end: how long it took since `begin`, and our own CPU time in it."""
        self._wall_s += wall_s
        self._foreign_s += max(self._busy_s() - self._began_s - own_s, 0.0)

    @property
    def other_cores(self) -> float | None:
        """How many cores other programs kept busy on average; None where it is not known."""
        if self._wall_s < MIN_S:
            return None
        return max(self._foreign_s / self._wall_s - self._elsewhere, 0.0)

    @property
    def is_busy(self) -> bool:
        """Whether that is enough to disturb."""
        return (self.other_cores or 0.0) >= BUSY_CORES

    @property
    def is_high(self) -> bool:
        """Whether that is so much that a choice by time is uncertain."""
        return (self.other_cores or 0.0) >= HIGH_SHARE * self.cores

    @property
    def words(self) -> str:
        """How busy the machine was, for people."""
        other = self.other_cores
        if other is None:
            return ""
        if not self.is_busy:
            return "the machine was otherwise quiet"
        return f"other programs kept {other:.1f} of {self.cores} cores busy meanwhile"


def machine_busy_s() -> float:
    """Return the CPU time of everything on the machine."""
    # Time of guests is counted in that of users already.
    idle = ("idle", "iowait", "guest", "guest_nice")
    times = psutil.cpu_times()._asdict()
    return float(sum(value for name, value in times.items() if name not in idle))

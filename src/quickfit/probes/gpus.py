"""Reads NVIDIA's GPUs while loops run: use, memory, clocks, power, and who else is on them.

NVML is asked, the library that comes with the driver. It needs no CUDA context, and a reading takes
a fraction of a millisecond on the background thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from quickfit.machine.devices import is_container
from quickfit.probes._state import State, now
from quickfit.probes._system_files import text

EVERY_S = 2.0
# Of more GPUs in one machine, a script uses a few, and each is read.
MAX_GPUS = 32
# How far up the processes above one are followed, to tell ours from others.
_MAX_GENERATIONS = 20


class GpuReader:
    """NVML, opened when a loop has begun; closed by the end of the process."""

    def __init__(self) -> None:
        self.due_s = 0.0
        self._nvml: Any = None
        self._handles: list[Any] = []
        self._is_looked_for = False
        self._seen_us: dict[int, int] = {}
        self._can_tell_others = not is_container()

    def read(self, state: State) -> None:
        """Record one reading of each GPU, when it is time to."""
        at_s = now()
        if not state.loops or at_s < self.due_s:
            return
        self.due_s = at_s + EVERY_S
        if not self._is_looked_for:
            self._is_looked_for = True
            self._open()
        for place, handle in enumerate(self._handles):
            state.writer.add("gpus", (place, at_s, *self._reading(place, handle)))

    def _open(self) -> None:
        try:
            import pynvml

            pynvml.nvmlInit()
            count = min(int(pynvml.nvmlDeviceGetCount()), MAX_GPUS)
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(place) for place in range(count)]
            self._nvml = pynvml
        except Exception:  # no driver, no library, no permission: there is nothing to read
            self._handles = []

    def _reading(self, place: int, handle: Any) -> tuple[Any, ...]:
        nvml, ask = self._nvml, self._ask
        used = ask("nvmlDeviceGetUtilizationRates", handle)
        memory = ask("nvmlDeviceGetMemoryInfo", handle)
        clock = ask("nvmlDeviceGetClockInfo", handle, nvml.NVML_CLOCK_SM)
        top = ask("nvmlDeviceGetMaxClockInfo", handle, nvml.NVML_CLOCK_SM)
        power = ask("nvmlDeviceGetPowerUsage", handle)
        limit = ask("nvmlDeviceGetEnforcedPowerLimit", handle)
        heat = ask("nvmlDeviceGetTemperature", handle, nvml.NVML_TEMPERATURE_GPU)
        errors = ask(
            "nvmlDeviceGetTotalEccErrors",
            handle,
            nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
            nvml.NVML_VOLATILE_ECC,
        )
        return (
            used.gpu / 100 if used is not None else None,
            int(memory.used) if memory is not None else None,
            int(memory.total) if memory is not None else None,
            clock * 1e6 if clock is not None else None,
            top * 1e6 if top is not None else None,
            ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle),
            power / 1000 if power is not None else None,
            limit / 1000 if limit is not None else None,
            float(heat) if heat is not None else None,
            *self._others(place, handle),
            errors,
        )

    def _others(self, place: int, handle: Any) -> tuple[int | None, int | None, float | None]:
        """Return how many other processes compute on a GPU, their memory, and their use of it."""
        processes = self._ask("nvmlDeviceGetComputeRunningProcesses", handle)
        # In a container the numbers of processes are those of the host: none of them is ours.
        if processes is None or not self._can_tell_others:
            return None, None, None
        others = [one for one in processes if not is_ours(int(one.pid))]
        held = sum(int(one.usedGpuMemory or 0) for one in others)
        if not others:
            return 0, 0, 0.0
        samples = self._ask("nvmlDeviceGetProcessUtilization", handle, self._seen_us.get(place, 0))
        if samples is None:
            return len(others), held, None
        known = {int(one.pid) for one in others}
        self._seen_us[place] = max((int(s.timeStamp) for s in samples), default=0)
        newest: dict[int, Any] = {}
        for sample in samples:
            before = newest.get(int(sample.pid))
            if int(sample.pid) in known and (before is None or before.timeStamp < sample.timeStamp):
                newest[int(sample.pid)] = sample
        return len(others), held, min(sum(int(s.smUtil) for s in newest.values()) / 100, 1.0)

    def _ask(self, name: str, *values: Any) -> Any:
        """Return an answer of NVML; None where a card or a driver does not know it."""
        question: Callable[..., Any] | None = getattr(self._nvml, name, None)
        try:
            return question(*values) if question is not None else None
        except Exception:  # its errors are made at run time, one class per code
            return None


def is_ours(pid: int) -> bool:
    """Tell whether a process is this one, one that it started, or one that it was started by."""
    own = os.getpid()
    return own in _line_of(pid) or pid in _line_of(own)


def _line_of(pid: int) -> list[int]:
    """Return a process and those above it."""
    line = [pid]
    for _ in range(_MAX_GENERATIONS):
        said = text(f"/proc/{line[-1]}/stat") or ""
        # The name of a program may hold anything, also brackets and blanks.
        fields = said.rpartition(")")[2].split()
        parent = int(fields[1]) if len(fields) > 1 and fields[1].isdecimal() else 0
        if parent <= 1:
            break
        line.append(parent)
    return line

"""Reads what the process and the machine do: CPU time, other load, memory, cores, the device."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from quickfit.capacity import usable_cores
from quickfit.data.speed.figures import Machine

# The system counts CPU time in ticks of 10 ms; over less than this they say nothing.
MIN_LOAD_S = 0.25


@dataclass(frozen=True)
class Reading:
    """Counters at one moment, all of which only grow.

    Args:
        at_s: monotonic time.
        cpu_s: CPU time of this process and its children.
        busy_s: CPU time of everything on the machine; None where it is not told.
        read_bytes: what this process had read from storage.
    """

    at_s: float
    cpu_s: float
    busy_s: float | None
    read_bytes: int | None


def read() -> Reading:
    """Return the counters as they are now."""
    return Reading(time.perf_counter(), tree_cpu_s(), _busy_s(), _read_bytes())


def tree_cpu_s() -> float:
    """Return the CPU time of this process, of its children, and of those that have ended."""
    ended = os.times()
    total = time.process_time() + ended.children_user + ended.children_system
    for child in _children():
        with contextlib.suppress(psutil.Error):  # it ended meanwhile
            times = child.cpu_times()
            total += times.user + times.system
            total += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return total


def memory_bytes() -> int | None:
    """Return the memory of this process and its children, shared pages counted once."""
    total = 0
    for process in (psutil.Process(), *_children()):
        with contextlib.suppress(psutil.Error):
            told = process.memory_full_info()
            total += int(getattr(told, "pss", None) or told.rss)
    return total or None


def between(first: Reading, last: Reading) -> Machine:
    """Return what the machine did between two readings."""
    wall_s = last.at_s - first.at_s
    other = None
    if first.busy_s is not None and last.busy_s is not None and wall_s >= MIN_LOAD_S:
        foreign_s = last.busy_s - first.busy_s - (last.cpu_s - first.cpu_s)
        # Of 64 cores, a container may use 4: the other 60 are not in its way.
        elsewhere = max((os.cpu_count() or 1) - usable_cores(), 0.0)
        other = max(foreign_s / wall_s - elsewhere, 0.0)
    device, is_cpu_only = _device()
    moved = None
    if first.read_bytes is not None and last.read_bytes is not None:
        moved = last.read_bytes - first.read_bytes
    return Machine(usable_cores(), other, device, is_cpu_only, moved)


def _device() -> tuple[str, bool]:
    """Return what TensorFlow computes on, where it is loaded, and whether that is the CPU."""
    tf = sys.modules.get("tensorflow")
    if tf is None:
        return "CPU", True
    # Asking for logical devices would take their memory.
    found = [device.device_type for device in tf.config.list_physical_devices()]
    others = [kind for kind in found if kind != "CPU"]
    return (f"{len(others)} {others[0]}" if others else "CPU"), not others


def _children() -> list[psutil.Process]:
    try:
        return psutil.Process().children(recursive=True)
    except psutil.Error:
        return []


def _busy_s() -> float | None:
    times = psutil.cpu_times()
    # Time of guests is counted in that of users already.
    idle = ("idle", "iowait", "guest", "guest_nice")
    return float(sum(value for name, value in times._asdict().items() if name not in idle))


def _read_bytes() -> int | None:
    return _field(Path("/proc/self/io"), "read_bytes:")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _field(path: Path, name: str) -> int | None:
    for line in _text(path).splitlines():
        parts = line.split()
        if len(parts) == 2 and parts[0] == name and parts[1].isdecimal():
            return int(parts[1])
    return None

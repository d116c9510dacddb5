"""CPU time of a process and all that it started, and of the whole machine."""

from __future__ import annotations

import resource
import time

import psutil

# Linux: the clock of another process's CPU time, as clock_getcpuclockid(3) makes it.
_SCHEDULED = 2


def own_cpu_s() -> float:
    """Return the CPU seconds of this process and of all its descendants, ended ones included."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + descendants_cpu_s()


def descendants_cpu_s(pid: int | None = None) -> float:
    """Return the CPU seconds of the running descendants of a process."""
    return sum(_cpu_s(child.pid) for child in psutil.Process(pid).children(recursive=True))


def tree_cpu_s(pid: int) -> float:
    """Return the CPU seconds of a running process and its running descendants."""
    return _cpu_s(pid) + descendants_cpu_s(pid)


def machine_cpu_s() -> float:
    """Return the CPU seconds that all processes of the machine have used."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system + times.irq + times.softirq)


def _cpu_s(pid: int) -> float:
    try:
        return time.clock_gettime((~pid << 3) | _SCHEDULED)
    except OSError:  # it ended in between
        return 0.0

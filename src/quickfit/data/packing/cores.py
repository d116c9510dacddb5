"""How many cores this process may use: those it is bound to, and what its container is given."""

from __future__ import annotations

import os
from pathlib import Path

_CONTROL = Path("/sys/fs/cgroup")


def usable_cores(control: Path = _CONTROL) -> int:
    """Return how many processes can work at the same time; at least one.

    A container with two of a machine's 64 cores sees all 64: as many workers would only take
    memory.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(bound or 1, _given(control)))


def _given(control: Path) -> int:
    """Return the cores that a container may use, rounded up; very many without a limit."""
    for quota, period in (
        (_words(control / "cpu.max"), None),
        (_words(control / "cpu" / "cpu.cfs_quota_us"), control / "cpu" / "cpu.cfs_period_us"),
    ):
        words = quota + _words(period) if period else quota
        if len(words) == 2 and all(word.isdigit() for word in words) and int(words[1]):
            return -(-int(words[0]) // int(words[1]))
    return 2**16


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []

"""What this process may use of the machine: cores and memory, no more than its container has."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
# Limit, use and the droppable part of it, by version of the interface.
_MEMORY_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}


def usable_cores() -> float:
    """Return how many cores this process may use: those it is bound to, or less in a container."""
    return min([float(_bound_cores()), *cores_in_groups(GROUPS, _text(_OWN))])


def whole_cores() -> int:
    """Return how many processes can work at the same time; at least one.

    A container with two of a machine's 64 cores sees all 64: as many workers would only take
    memory.
    """
    return max(1, math.ceil(usable_cores()))


def free_memory_bytes() -> int:
    """Return the memory that is free for this process: of the machine, or less in a container."""
    # Not everyone who asks for cores has it loaded, and a user's process should not wait for it.
    import psutil

    available = int(psutil.virtual_memory().available)
    return min([available, *free_in_groups(GROUPS, _text(_OWN))])


def cores_in_groups(root: Path, own: str) -> Iterator[float]:
    """Yield the cores that each control group around this process allows, where it has a limit.

    Args:
        root: where the groups are mounted.
        own: the text of `/proc/self/cgroup`.
    """
    for folder, version in _around(root, own, "cpu"):
        names = ("cpu.max",) if version == 2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        words = " ".join(_text(folder / name) for name in names).split()
        if len(words) == 2 and all(word.isdecimal() and int(word) for word in words):
            yield int(words[0]) / int(words[1])


def free_in_groups(root: Path, own: str) -> Iterator[int]:
    """Yield what is free in each control group around this process that has a limit.

    Args:
        root: where the groups are mounted.
        own: the text of `/proc/self/cgroup`.
    """
    for folder, version in _around(root, own, "memory"):
        limit_file, used_file, cached_name = _MEMORY_FILES[version]
        limit, used = _text(folder / limit_file).strip(), _text(folder / used_file).strip()
        if limit.isdecimal() and used.isdecimal():
            # Cached files that nobody uses are dropped when memory is asked for.
            cached = _field(folder / "memory.stat", cached_name)
            yield max(int(limit) - int(used) + cached, 0)


def _around(root: Path, own: str, controller: str) -> Iterator[tuple[Path, int]]:
    """Yield the folders of the groups around this process, with the version they speak."""
    for line in own.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        is_old = controller in controllers.split(",")
        if not is_old and not line.startswith("0::"):
            continue
        base = root / controller if is_old else root
        group = base / path.strip("/")
        # In a container the path may be that of the host, and only the upper end is there.
        for folder in (group, *group.parents):
            if folder.is_relative_to(base):
                yield folder, 1 if is_old else 2


def _bound_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _field(path: Path, name: str) -> int:
    for line in _text(path).splitlines():
        parts = line.split()
        if len(parts) == 2 and parts[0] == name and parts[1].isdecimal():
            return int(parts[1])
    return 0

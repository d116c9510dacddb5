"""The limits of the container this process runs in: memory, and CPU time that it was refused."""

from __future__ import annotations

import os
from typing import NamedTuple

from quickfit.probes._system_files import mounts, number, numbers, text

# Version 1 says "no limit" with a number near this one.
_NO_LIMIT_BYTES = 1 << 60


class Group(NamedTuple):
    """A control group: its folder, and the version of the interface (1 or 2)."""

    folder: str
    version: int


class Limits:
    """Reads the groups that limit this process; they are looked up once."""

    def __init__(self) -> None:
        mountinfo, own = text("/proc/self/mountinfo"), text("/proc/self/cgroup")
        groups = {name: groups_of(name, mountinfo, own) for name in ("memory", "cpu")}
        self.limit_bytes, self._memory = _tightest(groups["memory"])
        self._cpu = _with_quota(groups["cpu"])

    def used_bytes(self) -> int | None:
        """Return the memory in use, without cached files that the system can drop at once."""
        if self._memory is None:
            return None
        used = text(f"{self._memory.folder}/{_FILES[self._memory.version]['used']}")
        if not used or not used.strip().isdecimal():
            return None
        parts = text(f"{self._memory.folder}/memory.stat")
        # Version 1 counts the groups below apart.
        cached = number(parts, "total_inactive_file") or number(parts, "inactive_file")
        return max(int(used) - (cached or 0), 0)

    def throttled_s(self) -> float | None:
        """Return for how long the CPU limit has kept the container's tasks from running."""
        if self._cpu is None:
            return None
        told = numbers(text(f"{self._cpu.folder}/cpu.stat"))
        if "throttled_usec" in told:
            return told["throttled_usec"] / 1e6
        return told["throttled_time"] / 1e9 if "throttled_time" in told else None


_FILES = {
    1: {"used": "memory.usage_in_bytes", "limit": "memory.limit_in_bytes"},
    2: {"used": "memory.current", "limit": "memory.max"},
}


def groups_of(controller: str, mountinfo: str | None, own: str | None) -> list[Group]:
    """Return the groups a process belongs to for one controller, the innermost first.

    Args:
        mountinfo: the text of `/proc/self/mountinfo`.
        own: the text of `/proc/self/cgroup`.
    """
    for line in (own or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            return _upwards(mountinfo, path, 1, controller)
    for line in (own or "").splitlines():
        if line.startswith("0::"):
            return _upwards(mountinfo, line[3:], 2, "")
    return []


def _upwards(mountinfo: str | None, path: str, version: int, controller: str) -> list[Group]:
    kind = "cgroup" if version == 1 else "cgroup2"
    for mount in mounts(mountinfo):
        if mount.kind != kind or (controller and controller not in mount.options.split(",")):
            continue
        inside = f"{path}/".startswith(f"{mount.root.rstrip('/')}/")
        # In a container the path may be that of the host, of which only a part is mounted.
        below = path[len(mount.root.rstrip("/")) :].strip("/") if inside else ""
        parts = [part for part in below.split("/") if part]
        point = mount.point.rstrip("/")
        return [
            Group("/".join([point, *parts[:depth]]), version) for depth in range(len(parts), -1, -1)
        ]
    return []


def _tightest(groups: list[Group]) -> tuple[int | None, Group | None]:
    """Return the smallest memory limit and the group that has it; without one, the innermost."""
    best: int | None = None
    holder: Group | None = None
    for group in groups:
        told = (text(f"{group.folder}/{_FILES[group.version]['limit']}") or "").strip()
        limit = int(told) if told.isdecimal() else None
        if limit is not None and limit < min(best or _NO_LIMIT_BYTES, _NO_LIMIT_BYTES):
            best, holder = limit, group
    if holder is None:
        holder = next((group for group in groups if os.path.isdir(group.folder)), None)
    return best, holder


def _with_quota(groups: list[Group]) -> Group | None:
    """Return the innermost group with a CPU limit; without one, the innermost that there is."""
    for group in groups:
        told = text(f"{group.folder}/{'cpu.cfs_quota_us' if group.version == 1 else 'cpu.max'}")
        first = (told or "").split(" ")[0].strip()
        if first.isdecimal() and int(first) > 0:
            return group
    return next((group for group in groups if os.path.isdir(group.folder)), None)

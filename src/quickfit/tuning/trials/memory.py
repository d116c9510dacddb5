"""What memory this process holds, held at most, and may hold."""

from __future__ import annotations

import resource
from contextlib import suppress

_PAGE_UNIT_BYTES = 1024


def held_bytes() -> int:
    """Return the memory this process holds now."""
    return _status("VmRSS")


def forget_peak() -> None:
    """Begin to look for the peak anew, where the system allows it."""
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak_bytes() -> int:
    """Return the most memory this process held since `forget_peak`."""
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def limit_growth(limit_bytes: int) -> None:
    """Let this process take so much more memory than it has, and no more.

    The limit is on writable memory that was asked for (RLIMIT_DATA), used or not: it is met at
    the latest when the memory has grown by so much. A limit on address space (RLIMIT_AS) would
    be met ten times earlier: each new thread reserves 64 MB that it never writes to.
    """
    most = _status("VmData") + limit_bytes
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _status(name: str) -> int:
    with suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * _PAGE_UNIT_BYTES
    return 0

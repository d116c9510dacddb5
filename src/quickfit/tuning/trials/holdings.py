"""What memory a child holds, looked at from outside: it cannot tell after its end."""

from __future__ import annotations

import resource
from contextlib import suppress
from dataclasses import dataclass

_UNIT_BYTES = 1024


@dataclass(frozen=True)
class Held:
    """What a child held at most.

    Args:
        peak_bytes: memory that it used; 0 where nobody could look.
        limit_share: of what it was allowed to ask for, how much it had; 0 without a limit.
    """

    peak_bytes: int = 0
    limit_share: float = 0.0


class Holdings:
    """Looks from time to time at the memory of a child.

    Args:
        pid: its number.
        limit_bytes: by how much it may grow from the moment it sets its limit; None for no limit.
    """

    def __init__(self, pid: int, limit_bytes: int | None) -> None:
        self._pid = pid
        self._limit_bytes = limit_bytes
        self.held = Held()

    def look(self) -> None:
        """Note what the child holds now; one that has ended holds nothing any more."""
        sizes = self._sizes()
        self.held = Held(
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

"""A file that a thread writes and sums up, while the next records are made."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

# One handing over costs as much as making a small record: several at a time.
_HANDED_BYTES = 1_000_000
_HANDED_PARTS = 96
# However slow the disk is, not more than these wait to be written.
_WAITING = 4


class FileBehind:
    """A file that is being written, with its size and checksum.

    What cannot be written is raised by a later `write`, or by `close`.
    """

    def __init__(self, file: Path) -> None:
        from crc32c import crc32c

        self.file = file
        self.size = 0
        self.crc32c = 0
        self._crc32c = crc32c
        self._parts: list[bytes] = []
        self._parts_bytes = 0
        self._waiting: deque[Future[None]] = deque()
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC)
        self._thread = ThreadPoolExecutor(1)

    def write(self, *parts: bytes) -> None:
        """Append the parts."""
        for part in parts:
            self.size += len(part)
            self._parts_bytes += len(part)
        self._parts.extend(parts)
        if self._parts_bytes >= _HANDED_BYTES or len(self._parts) >= _HANDED_PARTS:
            self._hand_over()

    def close(self) -> None:
        """Write the rest, and close the file."""
        self._hand_over()
        while self._waiting:
            self._waiting.popleft().result()
        self._end()

    def remove(self) -> None:
        """Remove the file, if it has not been moved to its place."""
        self._end()
        self.file.unlink(missing_ok=True)

    def _hand_over(self) -> None:
        while len(self._waiting) >= _WAITING:
            self._waiting.popleft().result()
        self._waiting.append(self._thread.submit(self._put, self._parts))
        self._parts, self._parts_bytes = [], 0

    def _put(self, parts: list[bytes]) -> None:
        for part in parts:
            self.crc32c = self._crc32c(part, self.crc32c)
        missing = sum(map(len, parts)) - os.writev(self._descriptor, parts)
        if missing:  # a full disk takes what fits; the next write says why it takes no more
            rest = memoryview(b"".join(parts))[-missing:]
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def _end(self) -> None:
        self._thread.shutdown(cancel_futures=True)
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

"""Memory that several processes see, without a name that could outlive them."""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile

_PAGE_BYTES = mmap.PAGESIZE


def anonymous_file(name: str) -> int:
    """Return the descriptor of a file that vanishes with the last process that holds it.

    Not `multiprocessing.shared_memory`: its files have names, and stay when a process is killed.
    """
    if hasattr(os, "memfd_create"):
        return os.memfd_create(f"quickfit-{name}")
    with tempfile.TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


class SharedMemory:
    """A file in memory, mapped, that grows when one of its users needs more.

    Args:
        descriptor: from `anonymous_file`, here or in the process that started this one.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None

    def mapped(self, size_bytes: int) -> mmap.mmap:
        """Return the memory, at least so large; what was written stays."""
        if self._map is None or len(self._map) < size_bytes:
            whole = -(-size_bytes // _PAGE_BYTES) * _PAGE_BYTES
            if os.fstat(self.descriptor).st_size < whole:
                os.ftruncate(self.descriptor, whole)
            self._map = mmap.mmap(self.descriptor, whole)
        return self._map

    def close(self) -> None:
        """Let go of the file; arrays that still lie in it keep their memory."""
        self._map = None
        if self.descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(self.descriptor)
        self.descriptor = -1

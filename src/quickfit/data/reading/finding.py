"""Finds out which record of which file a piece of data is from, once something is wrong with it.

Nothing is carried along for it while all is well: a number beside each record would double the
cost of small ones.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import closing

from quickfit.data.reading.files import is_remote
from quickfit.data.reading.frames import outcomes

# Reading more than this to name a record would take minutes.
_MOST_BYTES = 20_000_000_000


class Finder:
    """Looks for records in files.

    Args:
        compressions: the files, each with its compression.
    """

    def __init__(self, compressions: Mapping[str, str]) -> None:
        self._compressions = compressions
        self._places: dict[int, str] = {}
        self._unread = self._records()
        self._lock = threading.Lock()

    def place_of(self, record: bytes) -> str:
        """Return the file of a record and its number there; each file is read once at most."""
        wanted = hash(record)
        with self._lock:
            while wanted not in self._places:
                place, content = next(self._unread, ("", b""))
                if not place:
                    return self._somewhere()
                self._places.setdefault(hash(content), place)
            return self._places[wanted]

    def place_with(self, part: bytes, is_it: Callable[[bytes], bool]) -> str:
        """Return the file of the record that holds this, and its number there.

        Args:
            part: bytes of the record.
            is_it: whether a record with these bytes in it is the one.
        """
        with closing(self._records()) as records:
            for place, content in records:
                if part in content and is_it(content):
                    return place
        return self._somewhere()

    def _records(self) -> Generator[tuple[str, bytes], None, None]:
        left = _MOST_BYTES
        for file, compression in self._compressions.items():
            if is_remote(file):
                return
            with closing(outcomes(file, compression)) as records:
                for number, record in enumerate(records):
                    if isinstance(record, bytes):
                        yield f"{file}, record {number}", record
                        left -= len(record)
                    if left < 0:
                        return

    def _somewhere(self) -> str:
        files = list(self._compressions)
        more = f" or of the other {len(files) - 1:,} files" if len(files) > 1 else ""
        return f"a record of {files[0]}{more}"

"""Opens TFRecord files: their compression, how many records they have, and whose they are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from quickfit.data.reading.faults import Faults
from quickfit.data.reading.files import is_remote
from quickfit.data.reading.frames import COMPRESSIONS, compression_of
from quickfit.data.reading.options import Options
from quickfit.data.reading.stream import UNKNOWN, Part, counted, shared
from quickfit.errors import PipelineError, UsageError

# Where the size of a record is not known, that of a small photograph.
_USUAL_BYTES = 100_000


@dataclass(frozen=True)
class Source:
    """The records to read.

    Args:
        parts: the files, and what of them is this worker's.
        faults: knows the damaged records.
        bytes: the size of the files; 0 where nobody knows.
    """

    parts: tuple[Part, ...]
    faults: Faults
    bytes: int

    @property
    def is_counted(self) -> bool:
        """Whether the number of records is known."""
        return all(part.count != UNKNOWN for part in self.parts)

    @property
    def count(self) -> int:
        """The records of an epoch, if they are counted; damaged ones among them."""
        return sum(part.own_count for part in self.parts)

    @property
    def mean_bytes(self) -> float:
        """About the size of a record."""
        total = sum(part.count for part in self.parts)
        return self.bytes / total if self.is_counted and total else _USUAL_BYTES

    @property
    def compressions(self) -> dict[str, str]:
        """The files, each with its compression."""
        return {part.file: part.compression for part in self.parts}


def source_of(files: Sequence[str], compression: str | None, options: Options) -> Source:
    """Return the records of these files.

    Args:
        files: their paths.
        compression: "auto", or what the user knows better.
        options: how they are read.

    Raises:
        PipelineError: a file is no TFRecord file, or damaged.
    """
    faults = Faults(skips=options.skips)
    parts = [Part(file, kind) for file, kind in _compressions(files, compression).items()]
    if not any(is_remote(file) for file in files):
        parts = counted(parts, faults)
        _check_records(parts)
    size = sum(os.path.getsize(file) for file in files if not is_remote(file))
    own = shared(parts, options.shard)
    if options.shard[1] > 1 and all(not part.own_count for part in own) and own[0].count >= 0:
        raise PipelineError(
            f"records(shard={options.shard}): this worker gets none of the "
            f"{sum(part.count for part in parts):,} records. Use fewer workers."
        )
    return Source(tuple(own), faults, size)


def _compressions(files: Sequence[str], compression: str | None) -> dict[str, str]:
    if compression != "auto":
        kind = (compression or "").upper()
        if kind not in COMPRESSIONS:
            raise UsageError(
                f"records(compression={compression!r}): choose 'auto', 'GZIP', 'ZLIB' or None."
            )
        return dict.fromkeys(files, kind)
    if any(is_remote(file) for file in files):
        # One look over the network is enough: writers compress all files or none.
        return dict.fromkeys(files, compression_of(files[0]))
    return {file: compression_of(file) for file in files}


def _check_records(parts: Sequence[Part]) -> None:
    if any(part.count for part in parts):
        return
    names = ", ".join(part.file for part in parts[:3]) + (", …" if len(parts) > 3 else "")
    raise PipelineError(
        f"{names}: there is no record in {'these files' if len(parts) > 1 else 'this file'}.\n"
        "Was the program that writes them stopped before it closed its TFRecordWriter?"
    )

"""The TFRecord files that a user means: found, counted, shared out and streamed."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.faults import RecordFaults
from quickfit.data.graph import Dataset, Tensor, tensor_from_python, without_autograph
from quickfit.data.options import PipelineOptions
from quickfit.data.packing.manifest import MANIFEST_KIND, PackLayout
from quickfit.data.tfrecord import (
    COMPRESSIONS,
    RecordCount,
    compression_of,
    count_records,
    is_remote,
    read_records,
)
from quickfit.errors import PipelineError, UsageError

Where = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

# What writers of TFRecord files call them: `train.tfrecord-00000-of-00004`, `a.tfrec`, …
_NAME = ".tfrec"
_PATTERN_LETTERS = frozenset("*?[")
_MOST_SHOWN = 5
# Reading more files at once brings nothing on one disk; a few hide the opening of each.
_FILES_AT_ONCE = 16
# Records that wait to be drawn; also bounded by memory.
_MOST_SHUFFLED = 50_000
_SHUFFLE_BYTES = 256_000_000
# Counting takes about 2 µs per record, before the first batch.
_MOST_COUNTED = 500_000
# Files that a number is not known of are read to their end.
UNKNOWN = -1
_ADVICE = "Copy or write the file again."
# Where the size of a record is not known, that of a small photograph.
_USUAL_BYTES = 100_000


def pack_in(where: Where) -> Path | None:
    """Return the folder of a pack; None for everything else."""
    if is_remote(where) or not isinstance(where, str | os.PathLike):
        return None
    folder = Path(where).expanduser()
    layout = PackLayout(folder)
    if layout.manifest.is_file():
        return folder if _is_packs(layout.manifest) else None
    return folder if layout.plan.exists() else None


def _is_packs(manifest: Path) -> bool:
    """Return whether a manifest is a pack's, or too damaged to be anybody else's."""
    try:
        values = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return not _files_in_folder(manifest.parent)
    return isinstance(values, dict) and values.get("kind") == MANIFEST_KIND


def files_of(where: Where) -> list[str]:
    """Return the files, sorted where the user gave no order.

    Raises:
        PipelineError: there are none.
        UsageError: it is nothing that names files.
    """
    if isinstance(where, str | os.PathLike):
        return _files_from_text(os.fspath(where))
    files = _listed_files(where)
    if not files:
        raise PipelineError("records([]): the list of files is empty.")
    if folders := [file for file in files if os.path.isdir(file)]:
        raise UsageError(
            f"{folders[0]}: is a folder, and a list must name files. Give one folder alone, or "
            "make a dataset of each: records(a).concatenate(records(b))"
        )
    missing = [file for file in files if not is_remote(file) and not os.path.isfile(file)]
    if missing:
        raise PipelineError(
            f"{missing[0]}: there is no such file ({len(missing):,} of the {len(files):,} files "
            "of the list are missing)."
        )
    return files


def _listed_files(where: object) -> list[str]:
    try:
        if isinstance(where, bytes | Mapping):
            raise TypeError
        return [os.path.expanduser(os.fspath(file)) for file in where]  # type: ignore[attr-defined]
    except TypeError:
        raise UsageError(
            f"records({where!r}): give a pack, a folder, a pattern such as "
            "'data/train-*.tfrecord', or a list of files."
        ) from None


def _files_from_text(where: str) -> list[str]:
    if is_remote(where):
        return _remote_files(where)
    where = os.path.expanduser(where)
    if os.path.isfile(where):
        return [where]
    if os.path.isdir(where):
        return _files_in_folder(Path(where)) or _nothing_in(where)
    if _PATTERN_LETTERS & set(where):
        found = sorted(file for file in glob.glob(where, recursive=True) if os.path.isfile(file))
        if not found:
            raise PipelineError(f"{where}: no file matches this pattern.{_nearest_listing(where)}")
        return found
    raise PipelineError(f"{where}: there is no such file or folder.{_nearest_listing(where)}")


def _files_in_folder(folder: Path) -> list[str]:
    return sorted(
        str(file)
        for file in folder.iterdir()
        if _NAME in file.name and not file.name.startswith(".") and file.is_file()
    )


def _remote_files(where: str) -> list[str]:
    import tensorflow as tf

    pattern = where
    if tf.io.gfile.isdir(where):
        pattern = f"{where.rstrip('/')}/*{_NAME}*"
    found: list[str] = sorted(tf.io.gfile.glob(pattern))
    if not found:
        raise PipelineError(f"{where}: no file matches {pattern}.")
    return found


def _nothing_in(folder: str) -> NoReturn:
    raise PipelineError(
        f"{folder}: the folder holds no TFRecord files (names with {_NAME!r} in them)."
        f"{_format_listing(folder)}\n"
        f"Of a folder of images, make a pack:\n    quickfit pack {folder} DST\n"
        f"If the files have other names, give a pattern: records({os.path.join(folder, '*')!r})"
    )


def _nearest_listing(path: str) -> str:
    """Return what is in the deepest folder of the path that exists."""
    folder = os.path.dirname(path) or "."
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder) or "."
    return _format_listing(folder)


def _format_listing(folder: str) -> str:
    names = sorted(os.listdir(folder))
    if not names:
        return f"\n{folder} is empty."
    shown = ", ".join(map(repr, names[:_MOST_SHOWN]))
    more = f" and {len(names) - _MOST_SHOWN:,} more" if len(names) > _MOST_SHOWN else ""
    return f"\n{folder} holds {shown}{more}."


@dataclass(frozen=True, slots=True)
class FilePart:
    """What one worker reads of a file.

    Args:
        file: its path.
        compression: as TensorFlow calls it.
        count: its records, `UNKNOWN` if nobody counted them.
        step: every how many records one is this worker's.
        start: the first of them.
    """

    file: str
    compression: str
    count: int = UNKNOWN
    step: int = 1
    start: int = 0

    @property
    def own_count(self) -> int:
        """The records that are this worker's."""
        return len(range(self.start, self.count, self.step))


def count_parts(parts: Sequence[FilePart], faults: RecordFaults) -> list[FilePart]:
    """Return the files with the number of their records; without it where that takes long.

    Raises:
        PipelineError: a file is cut off or damaged, and nothing is to be left out.
    """
    left = _MOST_COUNTED
    known = []
    for part in parts:
        found = count_records(part.file, part.compression, 2**62 if faults.skips else left)
        if found is None:
            return list(parts)
        if found.damage:
            _note_damage(part, found, faults)
        left -= found.count
        known.append(replace(part, count=found.count))
    return known


def _note_damage(part: FilePart, found: RecordCount, faults: RecordFaults) -> None:
    # Only the length of a record tells where the next one begins.
    place = f"byte {found.end_bytes:,}{' of its uncompressed content' * bool(part.compression)}"
    detail = f"{found.damage}; the rest of this file, from {place} on, could not be read"
    error = SourceImageError(found.reason, detail)
    faults.note(f"{part.file}, record {found.count}", error, _ADVICE)


def worker_parts(parts: Sequence[FilePart], shard: tuple[int, int]) -> list[FilePart]:
    """Return what one worker of several reads: whole files, and its records of those left over.

    Every record is one worker's, and workers have about the same number of them.
    """
    index, workers = shard
    whole = len(parts) // workers * workers
    own = list(parts[index:whole:workers])
    return own + [
        # Turned from file to file: the first worker must not have the odd record of each.
        replace(part, step=workers, start=(index + number) % workers)
        for number, part in enumerate(parts[whole:])
    ]


def stream_records(
    parts: Sequence[FilePart], options: PipelineOptions, faults: RecordFaults, mean_bytes: float
) -> Dataset:
    """Return the records of these files, serialized.

    Args:
        parts: the files.
        options: how they are shuffled.
        faults: is told of damaged records.
        mean_bytes: about the size of a record.
    """
    import tensorflow as tf

    columns = {
        "file": [os.fsencode(part.file) for part in parts],
        "compression": [part.compression for part in parts],
        "count": np.array([part.count for part in parts], np.int64),
        "step": np.array([part.step for part in parts], np.int64),
        "start": np.array([part.start for part in parts], np.int64),
    }
    files = tf.data.Dataset.from_tensor_slices(columns)
    if options.shuffle:
        files = files.shuffle(len(parts), seed=options.seed, reshuffle_each_iteration=True)
    is_counted = all(part.count != UNKNOWN for part in parts)
    is_shared = any(part.step > 1 for part in parts)

    @without_autograph
    def read(part: dict[str, Tensor]) -> Dataset:
        return _file_records(part, faults, is_counted=is_counted, is_shared=is_shared)

    records = files.interleave(
        read,
        # In order means one file after the other.
        cycle_length=min(len(parts), _FILES_AT_ONCE) if options.shuffle else 1,
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=options.is_reproducible,
    )
    if not options.shuffle:
        return records
    return records.shuffle(
        _shuffle_records(parts, options, mean_bytes),
        seed=options.seed,
        reshuffle_each_iteration=True,
    )


def _shuffle_records(parts: Sequence[FilePart], options: PipelineOptions, mean_bytes: float) -> int:
    if options.shuffle is not True:
        return int(options.shuffle)
    most = max(1, min(_MOST_SHUFFLED, int(_SHUFFLE_BYTES / max(mean_bytes, 1.0))))
    if any(part.count == UNKNOWN for part in parts):
        return most
    return max(1, min(most, sum(part.own_count for part in parts)))


def _file_records(
    part: dict[str, Tensor], faults: RecordFaults, *, is_counted: bool, is_shared: bool
) -> Dataset:
    """Return the records of one file.

    TensorFlow's error about a damaged record does not name the file, and ends reading it. So
    errors are left out; what is missing from the number of records then comes from Python, which
    names the record or goes on behind it.
    """
    import tensorflow as tf

    records = tf.data.TFRecordDataset(
        part["file"], compression_type=part["compression"], buffer_size=1 << 20
    )
    if is_counted:
        rest = _records_behind_damage(part["file"], part["compression"], faults)
        records = records.ignore_errors(log_warning=False).concatenate(rest).take(part["count"])
    return records.shard(part["step"], part["start"]) if is_shared else records


def _records_behind_damage(file: Tensor, compression: Tensor, faults: RecordFaults) -> Dataset:
    """Return the records behind the first damaged one; they are asked for only if one is."""
    import tensorflow as tf

    def rest(path: bytes, kind: bytes) -> NDArray[np.object_]:
        return np.array(read_behind_damage(os.fsdecode(path), kind.decode(), faults), object)

    @without_autograph
    def read(path: Tensor, kind: Tensor) -> Tensor:
        return tensor_from_python(rest, [path, kind], tf.string, (None,))

    once = tf.data.Dataset.from_tensors((file, compression))
    return once.map(read).unbatch()


def read_behind_damage(file: str, compression: str, faults: RecordFaults) -> list[bytes]:
    """Return the whole records behind the first damaged one.

    Raises:
        PipelineError: nothing is to be left out; names the record.
    """
    rest: list[bytes] = []
    is_damaged = False
    for number, outcome in enumerate(read_records(file, compression)):
        if isinstance(outcome, str):
            is_damaged = True
            error = SourceImageError(Reason.CORRUPT, outcome)
            faults.note(f"{file}, record {number}", error, _ADVICE)
        elif is_damaged:
            rest.append(outcome)
    if not is_damaged:
        detail = "could not be read when its turn came, and can be read now"
        faults.note(file, SourceImageError(Reason.UNREADABLE, detail), "Run it again.")
    return rest


@dataclass(frozen=True)
class RecordSource:
    """The records to read.

    Args:
        parts: the files, and what of them is this worker's.
        faults: knows the damaged records.
        bytes: the size of the files; 0 where nobody knows.
    """

    parts: tuple[FilePart, ...]
    faults: RecordFaults
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


def open_record_files(
    files: Sequence[str], compression: str | None, options: PipelineOptions
) -> RecordSource:
    """Return the records of these files.

    Args:
        files: their paths.
        compression: "auto", or what the user knows better.
        options: how they are read.

    Raises:
        PipelineError: a file is no TFRecord file, or damaged.
    """
    faults = RecordFaults(skips=options.skips)
    parts = [FilePart(file, kind) for file, kind in _find_compressions(files, compression).items()]
    if not any(is_remote(file) for file in files):
        parts = count_parts(parts, faults)
        _check_records(parts)
    size = sum(os.path.getsize(file) for file in files if not is_remote(file))
    own = worker_parts(parts, options.shard)
    if options.shard[1] > 1 and all(not part.own_count for part in own) and own[0].count >= 0:
        raise PipelineError(
            f"records(shard={options.shard}): this worker gets none of the "
            f"{sum(part.count for part in parts):,} records. Use fewer workers."
        )
    return RecordSource(tuple(own), faults, size)


def _find_compressions(files: Sequence[str], compression: str | None) -> dict[str, str]:
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


def _check_records(parts: Sequence[FilePart]) -> None:
    if any(part.count for part in parts):
        return
    names = ", ".join(part.file for part in parts[:3]) + (", …" if len(parts) > 3 else "")
    raise PipelineError(
        f"{names}: there is no record in {'these files' if len(parts) > 1 else 'this file'}.\n"
        "Was the program that writes them stopped before it closed its TFRecordWriter?"
    )

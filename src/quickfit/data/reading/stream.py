"""The records of TFRecord files as a dataset: several files at once, shuffled, shared out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.graph import Dataset, Tensor, in_python, plain
from quickfit.data.reading.faults import Faults
from quickfit.data.reading.frames import Walked, outcomes, walked
from quickfit.data.reading.options import Options

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


@dataclass(frozen=True, slots=True)
class Part:
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


def counted(parts: Sequence[Part], faults: Faults) -> list[Part]:
    """Return the files with the number of their records; without it where that takes long.

    Raises:
        PipelineError: a file is cut off or damaged, and nothing is to be left out.
    """
    left = _MOST_COUNTED
    known = []
    for part in parts:
        found = walked(part.file, part.compression, 2**62 if faults.skips else left)
        if found is None:
            return list(parts)
        if found.damage:
            _note(part, found, faults)
        left -= found.count
        known.append(replace(part, count=found.count))
    return known


def _note(part: Part, found: Walked, faults: Faults) -> None:
    # Only the length of a record tells where the next one begins.
    place = f"byte {found.end_bytes:,}{' of its uncompressed content' * bool(part.compression)}"
    detail = f"{found.damage}; the rest of this file, from {place} on, could not be read"
    error = SourceImageError(found.reason, detail)
    faults.note(f"{part.file}, record {found.count}", error, _ADVICE)


def shared(parts: Sequence[Part], shard: tuple[int, int]) -> list[Part]:
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


def streamed(parts: Sequence[Part], options: Options, faults: Faults, mean_bytes: float) -> Dataset:
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

    @plain
    def read(part: dict[str, Tensor]) -> Dataset:
        return _records_of(part, faults, is_counted=is_counted, is_shared=is_shared)

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
        _buffer(parts, options, mean_bytes), seed=options.seed, reshuffle_each_iteration=True
    )


def _buffer(parts: Sequence[Part], options: Options, mean_bytes: float) -> int:
    if options.shuffle is not True:
        return int(options.shuffle)
    most = max(1, min(_MOST_SHUFFLED, int(_SHUFFLE_BYTES / max(mean_bytes, 1.0))))
    if any(part.count == UNKNOWN for part in parts):
        return most
    return max(1, min(most, sum(part.own_count for part in parts)))


def _records_of(
    part: dict[str, Tensor], faults: Faults, *, is_counted: bool, is_shared: bool
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
        rest = _rest(part["file"], part["compression"], faults)
        records = records.ignore_errors(log_warning=False).concatenate(rest).take(part["count"])
    return records.shard(part["step"], part["start"]) if is_shared else records


def _rest(file: Tensor, compression: Tensor, faults: Faults) -> Dataset:
    """Return the records behind the first damaged one; they are asked for only if one is."""
    import tensorflow as tf

    def rest(path: bytes, kind: bytes) -> NDArray[np.object_]:
        return np.array(behind_damage(os.fsdecode(path), kind.decode(), faults), object)

    @plain
    def read(path: Tensor, kind: Tensor) -> Tensor:
        return in_python(rest, [path, kind], (tf.string, (None,)))[0]

    once = tf.data.Dataset.from_tensors((file, compression))
    return once.map(read).unbatch()


def behind_damage(file: str, compression: str, faults: Faults) -> list[bytes]:
    """Return the whole records behind the first damaged one.

    Raises:
        PipelineError: nothing is to be left out; names the record.
    """
    rest: list[bytes] = []
    is_damaged = False
    for number, outcome in enumerate(outcomes(file, compression)):
        if isinstance(outcome, str):
            is_damaged = True
            faults.note(f"{file}, record {number}", _corrupt(outcome), _ADVICE)
        elif is_damaged:
            rest.append(outcome)
    if not is_damaged:
        detail = "could not be read when its turn came, and can be read now"
        faults.note(file, SourceImageError(Reason.UNREADABLE, detail), "Run it again.")
    return rest


def _corrupt(detail: str) -> SourceImageError:
    return SourceImageError(Reason.CORRUPT, detail)

"""Serialized records into their fields, and which record of which file does not fit."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.faults import without_gaps
from quickfit.data.graph import Dataset, Tensor, tensor_from_python, without_autograph
from quickfit.data.options import PipelineOptions
from quickfit.data.pack_batches import decode_into
from quickfit.data.pixels import Pixels, empty_batch
from quickfit.data.record_fields import RecordField, RecordSpec, example_of, kind_of
from quickfit.data.record_files import RecordSource
from quickfit.data.tfrecord import is_remote, read_records
from quickfit.errors import PipelineError

# Reading more than this to name a record would take minutes.
_MOST_BYTES = 20_000_000_000
_Texts = NDArray[np.object_]


class RecordFinder:
    """Looks for records in files.

    Args:
        compressions: the files, each with its compression.
    """

    def __init__(self, compressions: Mapping[str, str]) -> None:
        self._compressions = compressions
        self._places: dict[int, str] = {}
        self._unread = self._find_in_records()
        self._lock = threading.Lock()

    def place_of(self, record: bytes) -> str:
        """Return the file of a record and its number there; each file is read once at most."""
        wanted = hash(record)
        with self._lock:
            while wanted not in self._places:
                place, content = next(self._unread, ("", b""))
                if not place:
                    return self._place_unknown()
                self._places.setdefault(hash(content), place)
            return self._places[wanted]

    def place_with(self, part: bytes, is_it: Callable[[bytes], bool]) -> str:
        """Return the file of the record that holds this, and its number there.

        Args:
            part: bytes of the record.
            is_it: whether a record with these bytes in it is the one.
        """
        with closing(self._find_in_records()) as records:
            for place, content in records:
                if part in content and is_it(content):
                    return place
        return self._place_unknown()

    def _find_in_records(self) -> Generator[tuple[str, bytes], None, None]:
        left = _MOST_BYTES
        for file, compression in self._compressions.items():
            if is_remote(file):
                return
            with closing(read_records(file, compression)) as records:
                for number, record in enumerate(records):
                    if isinstance(record, bytes):
                        yield f"{file}, record {number}", record
                        left -= len(record)
                    if left < 0:
                        return

    def _place_unknown(self) -> str:
        files = list(self._compressions)
        more = f" or of the other {len(files) - 1:,} files" if len(files) > 1 else ""
        return f"a record of {files[0]}{more}"


class RecordParser:
    """Parses the records of a source.

    Args:
        source: knows where each record is from.
        spec: the fields.
        options: the size of images, among others.
    """

    def __init__(self, source: RecordSource, spec: RecordSpec, options: PipelineOptions) -> None:
        self._source = source
        self._spec = spec
        self._options = options
        self._finder = RecordFinder(source.compressions)

    def batches(self, records: Dataset) -> Dataset:
        """Return batches of the fields by name, images decoded if a size was asked for.

        Args:
            records: serialized.
        """
        import tensorflow as tf

        is_final = self._options.drop_remainder and not self._options.skips
        whole = records.batch(self._options.batch, drop_remainder=is_final)
        if self._options.skips:
            faults, count = self._source.faults, self._source.count
            whole = without_gaps(self._usable_records(whole), self._options, faults, count)
        parallel = {
            "num_parallel_calls": tf.data.AUTOTUNE,
            "deterministic": self._options.is_reproducible,
        }
        parsed = whole.interleave(self._parse_guarded(), cycle_length=tf.data.AUTOTUNE, **parallel)
        if self._options.size is None:
            return parsed
        return parsed.map(without_autograph(self._with_images), **parallel)

    def _parse_guarded(self) -> Any:  # a function of tensors
        """Return the function that parses one batch; an error of TensorFlow is told better."""
        import tensorflow as tf

        fields = self._spec.as_tf()

        @without_autograph
        def parse(records: Tensor) -> dict[str, Tensor]:
            return tf.io.parse_example(records, fields)  # type: ignore[no-any-return]

        @without_autograph
        def explain(records: Tensor) -> dict[str, Tensor]:
            return parse(
                tensor_from_python(self._explain_failure, [records], tf.string, records.shape)
            )

        @without_autograph
        def guarded(records: Tensor) -> Dataset:
            batch = tf.data.Dataset.from_tensors(records)
            parsed = batch.map(parse).ignore_errors(log_warning=False)
            return parsed.concatenate(batch.map(explain)).take(1)

        return guarded

    def _with_images(self, fields: dict[str, Tensor]) -> dict[str, Tensor]:
        import tensorflow as tf

        images = {}
        for name in self._spec.images:
            shape = (fields[name].shape[0], *(self._options.size or ()), 3)
            decode = functools.partial(self._decode, name)
            images[name] = tensor_from_python(decode, [fields[name]], tf.uint8, shape)
        return fields | images

    def _decode(self, name: str, contents: _Texts) -> Pixels:
        height, width = self._options.size or (0, 0)
        images = empty_batch(len(contents), (height, width, 3))
        for content, image in zip(contents, images, strict=True):
            try:
                decode_into(content, image, self._options.resize)
            except SourceImageError as error:
                self._note_fault(self._place_of_image(name, content), error)
        return images

    def _place_of_image(self, name: str, content: bytes) -> str:
        def is_it(record: bytes) -> bool:
            example = example_of(record, "it")
            return name in example and content in example[name].bytes_list.value

        return self._finder.place_with(content, is_it)

    def _explain_failure(self, records: _Texts) -> _Texts:
        """Raise the error that names the first record that does not fit."""
        for record in records:
            if error := self._record_problem(record):
                self._note_fault(self._finder.place_of(record), error)
        return records

    def _usable_records(self, batches: Dataset) -> Dataset:
        """Return batches of the records that fit, with whole images; the others are noted."""
        import tensorflow as tf

        @without_autograph
        def check(records: Tensor) -> Tensor:
            is_usable = tensor_from_python(self._check_records, [records], tf.bool, (None,))
            return tf.boolean_mask(records, is_usable)

        return batches.map(check, num_parallel_calls=tf.data.AUTOTUNE)

    def _check_records(self, records: _Texts) -> NDArray[np.bool_]:
        is_usable = np.ones(len(records), bool)
        for row, record in enumerate(records):
            if error := self._record_problem(record) or self._image_problem(record):
                is_usable[row] = False
                self._note_fault(self._finder.place_of(record), error)
        return is_usable

    def _note_fault(self, place: str, error: SourceImageError) -> None:
        self._source.faults.note(place, error, f"The fields are taken to be {self._spec}")

    def _record_problem(self, record: bytes) -> SourceImageError | None:
        """Return why a record does not fit the fields; None if it does."""
        import tensorflow as tf

        try:
            tf.io.parse_single_example(record, self._spec.as_tf())
        except tf.errors.InvalidArgumentError as error:
            detail = self._record_difference(record) or str(error.message).splitlines()[0]
            return SourceImageError(Reason.CORRUPT, detail)
        return None

    def _record_difference(self, record: bytes) -> str:
        try:
            example = example_of(record, "it")
        except PipelineError as error:
            return str(error).splitlines()[0]
        for name, field in self._spec.fields.items():
            if isinstance(field, RecordField) and (text := _field_difference(name, field, example)):
                return text
        return ""

    def _image_problem(self, record: bytes) -> SourceImageError | None:
        if self._options.size is None:
            return None
        example = example_of(record, "it")
        room = np.empty((1, 1, 3), np.uint8)
        try:
            for name in self._spec.images:
                decode_into(example[name].bytes_list.value[0], room, self._options.resize)
        except SourceImageError as error:
            return error
        return None


def _field_difference(name: str, field: RecordField, example: dict[str, Any]) -> str:
    if name not in example:
        return "" if field.shape is None else f"it has no field {name!r}"
    kind, values = kind_of(example[name])
    wanted = "string" if field.kind == "image" else field.kind
    if kind != wanted:
        return f"its field {name!r} is {kind}, not {wanted}"
    if field.shape is not None and len(values) != int(np.prod(field.shape)):
        count = f"{len(values):,} value{'s' if len(values) != 1 else ''}"
        return (
            f"its field {name!r} has {count}, which does not fit {str(field)!r}; "
            f"any number of them is '{kind}[]'"
        )
    return ""

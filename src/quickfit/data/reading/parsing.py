"""Turns batches of serialized records into their fields, and says which record does not fit."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quickfit.data.entries import Reason, SourceImageError
from quickfit.data.graph import Dataset, Tensor, in_python, plain
from quickfit.data.pixels import empty_batch
from quickfit.data.reading.ending import without_gaps
from quickfit.data.reading.finding import Finder
from quickfit.data.reading.inference import example_of, kind_of
from quickfit.data.reading.opening import Source
from quickfit.data.reading.options import Options
from quickfit.data.reading.rows import Pixels, decoded
from quickfit.data.reading.spec import Field, Spec
from quickfit.errors import PipelineError

Texts = NDArray[np.object_]


class Parser:
    """Parses the records of a source.

    Args:
        source: knows where each record is from.
        spec: the fields.
        options: the size of images, among others.
    """

    def __init__(self, source: Source, spec: Spec, options: Options) -> None:
        self._source = source
        self._spec = spec
        self._options = options
        self._finder = Finder(source.compressions)

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
            whole = without_gaps(self._usable(whole), self._options, faults, count)
        parallel = {
            "num_parallel_calls": tf.data.AUTOTUNE,
            "deterministic": self._options.is_reproducible,
        }
        parsed = whole.interleave(self._guarded(), cycle_length=tf.data.AUTOTUNE, **parallel)
        if self._options.size is None:
            return parsed
        return parsed.map(plain(self._with_images), **parallel)

    def _guarded(self) -> Any:  # a function of tensors
        """Return the function that parses one batch; an error of TensorFlow is told better."""
        import tensorflow as tf

        fields = self._spec.as_tf()

        @plain
        def parse(records: Tensor) -> dict[str, Tensor]:
            return tf.io.parse_example(records, fields)  # type: ignore[no-any-return]

        @plain
        def explain(records: Tensor) -> dict[str, Tensor]:
            return parse(in_python(self._explain, [records], (tf.string, records.shape))[0])

        @plain
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
            (images[name],) = in_python(decode, [fields[name]], (tf.uint8, shape))
        return fields | images

    def _decode(self, name: str, contents: Texts) -> Pixels:
        height, width = self._options.size or (0, 0)
        images = empty_batch(len(contents), (height, width, 3))
        for content, image in zip(contents, images, strict=True):
            try:
                decoded(content, image, self._options.resize)
            except SourceImageError as error:
                self._note(self._place_of_image(name, content), error)
        return images

    def _place_of_image(self, name: str, content: bytes) -> str:
        def is_it(record: bytes) -> bool:
            example = example_of(record, "it")
            return name in example and content in example[name].bytes_list.value

        return self._finder.place_with(content, is_it)

    def _explain(self, records: Texts) -> Texts:
        """Raise the error that names the first record that does not fit."""
        for record in records:
            if error := self._problem(record):
                self._note(self._finder.place_of(record), error)
        return records

    def _usable(self, batches: Dataset) -> Dataset:
        """Return batches of the records that fit, with whole images; the others are noted."""
        import tensorflow as tf

        @plain
        def check(records: Tensor) -> Tensor:
            (is_usable,) = in_python(self._check, [records], (tf.bool, (None,)))
            return tf.boolean_mask(records, is_usable)

        return batches.map(check, num_parallel_calls=tf.data.AUTOTUNE)

    def _check(self, records: Texts) -> NDArray[np.bool_]:
        is_usable = np.ones(len(records), bool)
        for row, record in enumerate(records):
            if error := self._problem(record) or self._image_problem(record):
                is_usable[row] = False
                self._note(self._finder.place_of(record), error)
        return is_usable

    def _note(self, place: str, error: SourceImageError) -> None:
        self._source.faults.note(place, error, f"The fields are taken to be {self._spec}")

    def _problem(self, record: bytes) -> SourceImageError | None:
        """Return why a record does not fit the fields; None if it does."""
        import tensorflow as tf

        try:
            tf.io.parse_single_example(record, self._spec.as_tf())
        except tf.errors.InvalidArgumentError as error:
            detail = self._difference(record) or str(error.message).splitlines()[0]
            return SourceImageError(Reason.CORRUPT, detail)
        return None

    def _difference(self, record: bytes) -> str:
        try:
            example = example_of(record, "it")
        except PipelineError as error:
            return str(error).splitlines()[0]
        for name, field in self._spec.fields.items():
            if isinstance(field, Field) and (text := _difference(name, field, example)):
                return text
        return ""

    def _image_problem(self, record: bytes) -> SourceImageError | None:
        if self._options.size is None:
            return None
        example = example_of(record, "it")
        room = np.empty((1, 1, 3), np.uint8)
        try:
            for name in self._spec.images:
                decoded(example[name].bytes_list.value[0], room, self._options.resize)
        except SourceImageError as error:
            return error
        return None


def _difference(name: str, field: Field, example: dict[str, Any]) -> str:
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

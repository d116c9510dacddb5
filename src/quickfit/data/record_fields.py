"""The fields of a record: given by the user, or inferred from the first records."""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from quickfit.data.tfrecord import read_records
from quickfit.errors import PipelineError, UsageError

# The user's words for kinds, and ours.
_KINDS = {
    "int64": "int64",
    "int": "int64",
    "float32": "float32",
    "float": "float32",
    "string": "string",
    "bytes": "string",
    "image": "image",
    "jpeg": "image",
    "png": "image",
}
_TEXT = re.compile(r"\s*(\w+)\s*(?:\[\s*((?:\d+\s*,?\s*)*)\])?\s*")
# A field with one of these names, or with it after the last slash, is the label.
_LABEL_NAMES = ("label", "labels", "class", "class_id", "category", "target", "y")
# Spread over all files; enough to see fields that only some records have.
_MOST_FILES = 32
_RECORDS_EACH = 16
_FEATURE_KINDS = {"int64_list": "int64", "float_list": "float32", "bytes_list": "string"}
_IMAGE_STARTS = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"GIF87a", b"GIF89a")
_SHOWN_BYTES = 16
_Examples = Sequence[Mapping[str, Any]]  # protobuf messages by name


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field of a record.

    Args:
        kind: `int64`, `float32`, `string` or `image` (an encoded file).
        shape: of its values; `()` for one value, None for any number of them.
    """

    kind: str
    shape: tuple[int, ...] | None = ()

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.kind}[]"
        return f"{self.kind}[{','.join(map(str, self.shape))}]" if self.shape else self.kind

    def as_tf(self) -> Any:  # a feature of tf.io
        """Return the field as `tf.io.parse_example` takes it."""
        import tensorflow as tf

        dtype = tf.as_dtype("string" if self.kind == "image" else self.kind)
        if self.shape is None:
            return tf.io.RaggedFeature(dtype)
        return tf.io.FixedLenFeature(self.shape, dtype)


@dataclass(frozen=True)
class RecordSpec:
    """The fields of all records.

    Args:
        fields: by name; what the user gave as features of `tf.io` is kept as it is.
        is_found: whether they were found in the first records.
    """

    fields: Mapping[str, Any]  # Field, or a feature of tf.io
    is_found: bool = False

    def __str__(self) -> str:
        return (
            "{" + ", ".join(f'"{name}": {_quote_field(f)}' for name, f in self.fields.items()) + "}"
        )

    def as_tf(self) -> dict[str, Any]:
        """Return the fields as `tf.io.parse_example` takes them."""
        return {
            name: field.as_tf() if isinstance(field, RecordField) else field
            for name, field in self.fields.items()
        }

    @property
    def images(self) -> list[str]:
        """The fields that hold one image file each."""
        return [name for name, field in self.fields.items() if field == RecordField("image")]

    @property
    def pair(self) -> tuple[str, str] | None:
        """The names of the image and of its label, where both are obvious."""
        label = self._label()
        if len(self.images) != 1 or label is None:
            return None
        if not self.is_found and len(self.fields) != 2:
            return None  # the user asked for more
        return self.images[0], label

    def _label(self) -> str | None:
        numbers = [name for name, field in self.fields.items() if field == RecordField("int64")]
        named = [name for name in numbers if name.lower().rpartition("/")[2] in _LABEL_NAMES]
        obvious = numbers if len(numbers) == 1 else named
        return obvious[0] if len(obvious) == 1 else None


def _quote_field(field: object) -> str:
    return f'"{field}"' if isinstance(field, RecordField) else repr(field)


def spec_from_features(features: object) -> RecordSpec:
    """Return the fields that the user gave.

    Raises:
        UsageError: they are none.
    """
    if not isinstance(features, Mapping) or not features:
        raise UsageError(
            f"records(features={features!r}): give a dict of names and kinds, such as "
            '{"image": "image", "label": "int64"}, or the features of tf.io.parse_example.'
        )
    return RecordSpec(
        {str(name): _parse_field(str(name), value) for name, value in features.items()}
    )


def _number_field(value: Any) -> RecordField | None:  # a feature of tf.io
    """Return a feature of numbers in our words, if they can say all of it."""
    import tensorflow as tf

    is_plain = isinstance(value, tf.io.FixedLenFeature) and value.default_value is None
    if not is_plain or value.dtype not in (tf.int64, tf.float32):
        return None
    return RecordField(value.dtype.name, tuple(value.shape))


def _parse_field(name: str, value: object) -> object:
    if not isinstance(value, str):
        if type(value).__module__.startswith("tensorflow."):
            return _number_field(value) or value
        raise UsageError(
            f"records(features=...): {name!r} is {value!r}. Say its kind in a text, "
            f"{{{name!r}: 'int64'}}, or give a feature such as tf.io.FixedLenFeature([], tf.int64)."
        )
    found = _TEXT.fullmatch(value)
    kind = _KINDS.get(found[1]) if found else None
    if found is None or kind is None:
        raise UsageError(
            f"records(features=...): {name!r} is {value!r}, and kinds are 'int64', 'float32', "
            "'string' and 'image'; with 'int64[3]' for three values, 'int64[]' for any number."
        )
    if found[2] is None:
        return RecordField(kind)
    sides = tuple(int(side) for side in re.findall(r"\d+", found[2]))
    return RecordField(kind, sides or None)


@dataclass
class _SeenField:
    """What was seen of one field."""

    kind: str
    file: str
    lengths: set[int] = field(default_factory=set)
    records: int = 0
    are_images: bool = True


def infer_spec(files: Mapping[str, str]) -> RecordSpec:
    """Return the fields of the records in these files (path: compression).

    Raises:
        PipelineError: the records are no `tf.train.Example`, or files differ.
    """
    seen: dict[str, _SeenField] = {}
    total = 0
    for file in _spread_files(list(files)):
        examples = list(_first_examples(file, files[file]))
        if seen and examples:
            _compare_fields(seen, examples, file, total)
        total += len(examples)
        for example in examples:
            _note_features(seen, example, file)
    if not total:
        raise PipelineError(
            f"{next(iter(files))}: there is no record in it"
            f"{f', nor in the other {len(files) - 1:,} files' if len(files) > 1 else ''}."
        )
    return RecordSpec(
        {name: _infer_field(seen[name], total) for name in sorted(seen)}, is_found=True
    )


def _spread_files(files: list[str]) -> list[str]:
    step = max(1, -(-len(files) // _MOST_FILES))
    return files[::step]


def _first_examples(file: str, compression: str) -> Iterable[dict[str, Any]]:
    """Yield the features of the first records that have a value (`Any`: protobuf messages)."""
    with closing(read_records(file, compression)) as records:
        for number, record in enumerate(itertools.islice(records, _RECORDS_EACH)):
            if isinstance(record, str):
                return  # damaged; told, with its place, when it is read
            yield example_of(record, f"{file}, record {number}")


def readable_examples(files: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the first records of several files, without what is damaged or no example."""
    examples: list[dict[str, Any]] = []
    for file in _spread_files(list(files)):
        with closing(read_records(file, files[file])) as records:
            for record in itertools.islice(records, _RECORDS_EACH):
                with suppress(PipelineError):
                    examples += [example_of(record, file)] if isinstance(record, bytes) else []
    return examples


def example_of(record: bytes, place: str) -> dict[str, Any]:
    """Return the features of a record that have a value, by name (`Any`: protobuf messages).

    Raises:
        PipelineError: it is no `tf.train.Example`.
    """
    import tensorflow as tf
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        example = tf.train.Example.FromString(record)
        sequence = tf.train.SequenceExample.FromString(record)
    except DecodeError:
        _no_example(record, place)
    if sequence.feature_lists.feature_list:
        names = ", ".join(sorted(sequence.feature_lists.feature_list))
        raise PipelineError(
            f"{place}: is a tf.train.SequenceExample (lists: {names}), and records are read as "
            "tf.train.Example.\nRead it yourself: records(..., parse=function), where function "
            "calls tf.io.parse_single_sequence_example."
        )
    if not example.features.feature and record:
        _no_example(record, place)
    features = example.features.feature
    return {name: features[name] for name in features if features[name].WhichOneof("kind")}


def _no_example(record: bytes, place: str) -> NoReturn:
    start = record[:_SHOWN_BYTES]
    raise PipelineError(
        f"{place}: is no tf.train.Example; it looks like {_guess_content(record)} "
        f"({len(record):,} bytes, "
        f"beginning with {start!r}).\n"
        "Say how to read a record: records(..., parse=function), where function gets the bytes "
        f"of one record{_parse_hint(record)}."
    )


def _guess_content(record: bytes) -> str:
    if _is_image(record):
        return "an image file"
    if record[:1] in (b"{", b"["):
        return "JSON"
    if record[:1] == b"\x80" and record[1:2] in b"\x02\x03\x04\x05":
        return "a Python pickle"
    if _is_tensor(record):
        return "a tensor written by tf.io.serialize_tensor"
    return "text" if record[:200].isascii() else "data of another kind"


def _parse_hint(record: bytes) -> str:
    if _is_image(record):
        return ", such as tf.io.decode_image(record, 3, expand_animations=False)"
    return ", such as tf.io.parse_tensor(record, tf.float32)" if _is_tensor(record) else ""


def _is_tensor(record: bytes) -> bool:
    # Field 1 of the message, a number: the type; field 2: the shape.
    return len(record) > 3 and record[0] == 0x08 and record[1] < 24 and record[2] == 0x12


def _is_image(value: bytes) -> bool:
    is_webp = value[:4] == b"RIFF" and value[8:12] == b"WEBP"
    is_bmp = value[:2] == b"BM" and int.from_bytes(value[2:6], "little") == len(value)
    is_avif = value[4:12] == b"ftypavif"
    return is_webp or is_bmp or is_avif or value.startswith(_IMAGE_STARTS)


def _note_features(seen: dict[str, _SeenField], example: Mapping[str, Any], file: str) -> None:
    for name, feature in example.items():
        kind, values = kind_of(feature)
        known = seen.setdefault(name, _SeenField(kind, file))
        if not values:
            # An empty list tells nothing of its kind.
            known.lengths.add(0)
            continue
        if not known.lengths - {0}:
            known.kind, known.file = kind, file
        if known.kind != kind:
            raise PipelineError(
                f"{file}: {name!r} is {kind}, but {known.kind} in {known.file}. Files with "
                "different records cannot be read as one dataset: give only those that belong "
                "together."
            )
        known.records += 1
        known.lengths.add(len(values))
        known.are_images = known.are_images and kind == "string" and all(map(_is_image, values))


def kind_of(feature: Any) -> tuple[str, Any]:  # protobuf messages
    """Return the kind of a feature and its values."""
    kind = feature.WhichOneof("kind")
    return _FEATURE_KINDS[kind], getattr(feature, kind).value


def _infer_field(seen: _SeenField, total: int) -> RecordField:
    is_fixed = seen.records == total and len(seen.lengths) == 1 and 0 not in seen.lengths
    if not is_fixed:
        return RecordField(seen.kind, None)
    (length,) = seen.lengths
    if length == 1:
        return RecordField("image" if seen.are_images else seen.kind)
    return RecordField(seen.kind, (length,))


def _compare_fields(
    seen: Mapping[str, _SeenField], examples: list[dict[str, Any]], file: str, total: int
) -> None:
    """Raise an error if this file always has what no file before had, or the other way round.

    What only some records have may be missing from all that were looked at in one file.
    """
    ever = set().union(*examples)
    always = {name for name in ever if all(name in example for example in examples)}
    more = sorted(always - set(seen))
    fewer = sorted(name for name in set(seen) - ever if seen[name].records == total)
    if not more and not fewer:
        return
    what = f"has {', '.join(more)} too" if more else f"lacks {', '.join(fewer)}"
    first = next(iter(seen.values())).file
    raise PipelineError(
        f"{file}: its records differ from those of {first}: it {what}.\n"
        "Give only the files that belong together, or name the fields you want: "
        'records(..., features={"image": "image", "label": "int64"}).'
    )


def check_features(spec: RecordSpec, files: Mapping[str, str]) -> None:
    """Compare fields with the first records of these files (path: compression).

    What only some of them contradict is told, or left out, when it is read.

    Raises:
        UsageError: none of the records has a field as it was given.
    """
    examples = readable_examples(files)
    if not examples:
        return  # told, with the reason, when they are read
    for name, given in spec.fields.items():
        field = _as_record_field(given)
        if field is not None and (problem := _field_problem(name, field, examples)):
            raise UsageError(
                f"records(features=...): {problem}.\nThe fields in the files are "
                f"{_present_fields(files, examples)}"
            )


def _as_record_field(given: Any) -> RecordField | None:  # Field, or a feature of tf.io
    """Return what a field must be like in every record; None where nothing is known."""
    import tensorflow as tf

    if isinstance(given, RecordField):
        return given
    if isinstance(given, tf.io.FixedLenFeature) and given.default_value is None:
        return RecordField(given.dtype.name, tuple(given.shape))
    return None


def _field_problem(name: str, field: RecordField, examples: _Examples) -> str:
    found = [kind_of(example[name]) for example in examples if name in example]
    if not found:
        # A list that is empty in most records may be missing from the first ones.
        return "" if field.shape is None else _unknown_field(name, examples)
    wanted = "string" if field.kind == "image" else field.kind
    kinds = {kind for kind, values in found if values}
    if kinds and wanted not in kinds:
        return f"{name!r} is given as '{field}', and is {' or '.join(sorted(kinds))} in the files"
    lengths = sorted({len(values) for _, values in found})
    if field.shape is None or math.prod(field.shape) in lengths:
        return ""
    several = f"{lengths[0]:,}" if len(lengths) == 1 else f"{lengths[0]:,} to {lengths[-1]:,}"
    count = f"{several} value{'' if lengths == [1] else 's'}"
    return (
        f"{name!r} is given as '{field}', and has {count} in a record; "
        f"any number of them is '{wanted}[]'"
    )


def _unknown_field(name: str, examples: _Examples) -> str:
    names = sorted(set().union(*examples))
    near = difflib.get_close_matches(name, names, 1)
    hint = f" (perhaps {near[0]!r} is meant)" if near else ""
    return f"no record has a field {name!r}{hint}"


def _present_fields(files: Mapping[str, str], examples: _Examples) -> str:
    try:
        return str(infer_spec(files))
    except PipelineError:  # files differ, or a record is damaged
        return ", ".join(sorted(set().union(*examples)))

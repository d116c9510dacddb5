"""Finds out from the first records of several files which fields records have."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from quickfit.data.reading.frames import outcomes
from quickfit.data.reading.spec import Field, Spec
from quickfit.errors import PipelineError

# Spread over all files; enough to see fields that only some records have.
_MOST_FILES = 32
_RECORDS_EACH = 16
_KINDS = {"int64_list": "int64", "float_list": "float32", "bytes_list": "string"}
_IMAGE_STARTS = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"GIF87a", b"GIF89a")
_SHOWN_BYTES = 16


@dataclass
class _Seen:
    """What was seen of one field."""

    kind: str
    file: str
    lengths: set[int] = field(default_factory=set)
    records: int = 0
    are_images: bool = True


def inferred(files: Mapping[str, str]) -> Spec:
    """Return the fields of the records in these files (path: compression).

    Raises:
        PipelineError: the records are no `tf.train.Example`, or files differ.
    """
    seen: dict[str, _Seen] = {}
    total = 0
    for file in _spread(list(files)):
        examples = list(_examples(file, files[file]))
        if seen and examples:
            _compare(seen, examples, file, total)
        total += len(examples)
        for example in examples:
            _note(seen, example, file)
    if not total:
        raise PipelineError(
            f"{next(iter(files))}: there is no record in it"
            f"{f', nor in the other {len(files) - 1:,} files' if len(files) > 1 else ''}."
        )
    return Spec({name: _field(seen[name], total) for name in sorted(seen)}, is_found=True)


def _spread(files: list[str]) -> list[str]:
    step = max(1, -(-len(files) // _MOST_FILES))
    return files[::step]


def _examples(file: str, compression: str) -> Iterable[dict[str, Any]]:
    """Yield the features of the first records that have a value (`Any`: protobuf messages)."""
    with closing(outcomes(file, compression)) as records:
        for number, record in enumerate(itertools.islice(records, _RECORDS_EACH)):
            if isinstance(record, str):
                return  # damaged; told, with its place, when it is read
            yield example_of(record, f"{file}, record {number}")


def readable_examples(files: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the first records of several files, without what is damaged or no example."""
    examples: list[dict[str, Any]] = []
    for file in _spread(list(files)):
        with closing(outcomes(file, files[file])) as records:
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
        f"{place}: is no tf.train.Example; it looks like {_guess(record)} ({len(record):,} bytes, "
        f"beginning with {start!r}).\n"
        "Say how to read a record: records(..., parse=function), where function gets the bytes "
        f"of one record{_recipe(record)}."
    )


def _guess(record: bytes) -> str:
    if _is_image(record):
        return "an image file"
    if record[:1] in (b"{", b"["):
        return "JSON"
    if record[:1] == b"\x80" and record[1:2] in b"\x02\x03\x04\x05":
        return "a Python pickle"
    if _is_tensor(record):
        return "a tensor written by tf.io.serialize_tensor"
    return "text" if record[:200].isascii() else "data of another kind"


def _recipe(record: bytes) -> str:
    if _is_image(record):
        return ", such as tf.io.decode_image(record, 3, expand_animations=False)"
    return ", such as tf.io.parse_tensor(record, tf.float32)" if _is_tensor(record) else ""


def _is_tensor(record: bytes) -> bool:
    # Field 1 of the message, a number: the type; field 2: the shape.
    return len(record) > 3 and record[0] == 0x08 and record[1] < 24 and record[2] == 0x12


def _is_image(value: bytes) -> bool:
    is_webp = value[:4] == b"RIFF" and value[8:12] == b"WEBP"
    is_bmp = value[:2] == b"BM" and int.from_bytes(value[2:6], "little") == len(value)
    return is_webp or is_bmp or value.startswith(_IMAGE_STARTS)


def _note(seen: dict[str, _Seen], example: Mapping[str, Any], file: str) -> None:
    for name, feature in example.items():
        kind, values = kind_of(feature)
        known = seen.setdefault(name, _Seen(kind, file))
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
    return _KINDS[kind], getattr(feature, kind).value


def _field(seen: _Seen, total: int) -> Field:
    is_fixed = seen.records == total and len(seen.lengths) == 1 and 0 not in seen.lengths
    if not is_fixed:
        return Field(seen.kind, None)
    (length,) = seen.lengths
    if length == 1:
        return Field("image" if seen.are_images else seen.kind)
    return Field(seen.kind, (length,))


def _compare(
    seen: Mapping[str, _Seen], examples: list[dict[str, Any]], file: str, total: int
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

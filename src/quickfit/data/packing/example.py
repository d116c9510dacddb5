"""`tf.train.Example` messages of images, written and read without TensorFlow.

The image comes last in the message, so that everything before it is one small piece of bytes
and the image itself is never copied.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

# The fields of a record and their kinds, as TensorFlow's feature specs call them.
FEATURES = {
    "image": "bytes",
    "format": "bytes",
    "height": "int64",
    "width": "int64",
    "channels": "int64",
    "label": "int64",
    "path": "bytes",
    "sha256": "bytes",
}
# A message of protobuf has at most 2 GB; the fields beside the image need far less than this.
MAX_IMAGE_BYTES = 2**31 - 2**20
_BYTES_LIST, _INT64_LIST = 1, 3
# The only wire type in these messages: a length, and as many bytes.
_SIZED = 2


class BrokenExampleError(Exception):
    """A record is no `tf.train.Example`."""


@dataclass(frozen=True, slots=True)
class Record:
    """One image as a pack holds it.

    Args:
        image: the encoded file, or the pixels.
        format: how: `jpeg`, `png`, … or `raw`.
        height, width, channels: of the image as stored, before any EXIF orientation.
        label: its class, or `NO_LABEL`.
        path: its name in the source; bytes that are no UTF-8 as surrogates.
        sha256: of the source's file.
    """

    image: bytes
    format: str
    height: int
    width: int
    channels: int
    label: int
    path: str
    sha256: bytes


def path_bytes(path: str) -> bytes:
    """Return a name as the source's file system has it."""
    return path.encode("utf-8", "surrogateescape")


def path_text(path: bytes) -> str:
    """Return a name with bytes that are no UTF-8 as surrogates."""
    return path.decode("utf-8", "surrogateescape")


def before_image(record: Record) -> bytes:
    """Return the message without the image's bytes, which follow it and end the message."""
    path = path_bytes(record.path)
    small = b"".join(
        (
            _shape(record.format, record.height, record.width, record.channels),
            _int("label", record.label),
            _before_bytes("path", len(path)),
            path,
            _before_bytes("sha256", len(record.sha256)),
            record.sha256,
        )
    )
    size = len(record.image)
    entry = _entry_start("image", size)
    start = small + entry
    return b"\x0a" + _varint(len(start) + size) + start


def _entry_start(name: str, size: int) -> bytes:
    """Return all of a feature of bytes but the bytes, of which there are `size`."""
    # From the inside out; each names the length of all that follows in it.
    value = b"\x0a" + _varint(size)
    feature = b"\x0a" + _varint(len(value) + size) + value
    named = b"\x0a" + _sized(name.encode()) + b"\x12" + _varint(len(feature) + size) + feature
    return b"\x0a" + _varint(len(named) + size) + named


@lru_cache(maxsize=4096)  # lengths of paths repeat
def _before_bytes(name: str, size: int) -> bytes:
    return _entry_start(name, size)


def _bytes(name: str, value: bytes) -> bytes:
    return _entry_start(name, len(value)) + value


@lru_cache(maxsize=4096)  # shapes repeat
def _shape(format: str, height: int, width: int, channels: int) -> bytes:
    sides = _int("height", height) + _int("width", width)
    return _bytes("format", format.encode()) + sides + _int("channels", channels)


@lru_cache(maxsize=4096)  # labels repeat
def _int(name: str, value: int) -> bytes:
    # A negative number is written as its 64 bits.
    return _entry(name, b"\x1a" + _sized(b"\x0a" + _sized(_varint(value & (2**64 - 1)))))


def _entry(name: str, feature: bytes) -> bytes:
    return b"\x0a" + _sized(b"\x0a" + _sized(name.encode()) + b"\x12" + _sized(feature))


def _sized(value: bytes) -> bytes:
    return _varint(len(value)) + value


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    digits = bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def parsed(message: bytes) -> Record:
    """Return the record of a message.

    Raises:
        BrokenExampleError: it is no `tf.train.Example`, or not one of a pack.
    """
    entries = [e for features in _fields(memoryview(message), 1) for e in _fields(features, 1)]
    values: dict[str, Any] = dict(map(_named, entries))  # bytes or int, seen to below
    wrong = [name for name in FEATURES if not _has_kind(values.get(name), FEATURES[name])]
    if wrong or len(values) != len(FEATURES):
        found = ", ".join(sorted(values)) or "none"
        raise BrokenExampleError(f"it has not the fields of a pack (found: {found})")
    return Record(
        **values
        | {"format": values["format"].decode("ascii", "replace"), "path": path_text(values["path"])}
    )


def _has_kind(value: object, kind: str) -> bool:
    return isinstance(value, bytes if kind == "bytes" else int)


def _named(entry: memoryview) -> tuple[str, bytes | int | None]:
    names, features = list(_fields(entry, 1)), list(_fields(entry, 2))
    if len(names) != 1 or len(features) != 1:
        raise BrokenExampleError("a field has no name or no value")
    return _name(names[0]), _value(features[0])


def _name(name: memoryview) -> str:
    text = bytes(name).decode("utf-8", "replace")
    return text if re.fullmatch(r"\w+", text) else repr(text)


def _value(feature: memoryview) -> bytes | int | None:
    """Return the one value of a feature; None where there is another number of them."""
    texts = [value for found in _fields(feature, _BYTES_LIST) for value in _fields(found, 1)]
    numbers = [value for found in _fields(feature, _INT64_LIST) for value in _fields(found, 1)]
    if len(texts) + len(numbers) != 1:
        return None
    if texts:
        return bytes(texts[0])
    value, end = _read_varint(numbers[0], 0)
    whole = value - 2**64 if value >= 2**63 else value
    return whole if end == len(numbers[0]) else None


def _fields(message: memoryview, wanted: int) -> list[memoryview]:
    """Return the values of one field of a message; only fields that have a length."""
    found = []
    position = 0
    while position < len(message):
        key, position = _read_varint(message, position)
        if key & 7 != _SIZED:
            raise BrokenExampleError(f"a field of wire type {key & 7} stands where none may")
        length, position = _read_varint(message, position)
        if length > len(message) - position:
            raise BrokenExampleError("a field is longer than its message")
        if key >> 3 == wanted:
            found.append(message[position : position + length])
        position += length
    return found


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(message) and shift < 64:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), position
        shift += 7
    raise BrokenExampleError("a number does not end")

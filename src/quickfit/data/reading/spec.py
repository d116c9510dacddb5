"""What the fields of a record are: given by the user, or found in the first records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quickfit.errors import UsageError

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


@dataclass(frozen=True, slots=True)
class Field:
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
class Spec:
    """The fields of all records.

    Args:
        fields: by name; what the user gave as features of `tf.io` is kept as it is.
        is_found: whether they were found in the first records.
    """

    fields: Mapping[str, Any]  # Field, or a feature of tf.io
    is_found: bool = False

    def __str__(self) -> str:
        return "{" + ", ".join(f'"{name}": {_quoted(f)}' for name, f in self.fields.items()) + "}"

    def as_tf(self) -> dict[str, Any]:
        """Return the fields as `tf.io.parse_example` takes them."""
        return {
            name: field.as_tf() if isinstance(field, Field) else field
            for name, field in self.fields.items()
        }

    @property
    def images(self) -> list[str]:
        """The fields that hold one image file each."""
        return [name for name, field in self.fields.items() if field == Field("image")]

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
        numbers = [name for name, field in self.fields.items() if field == Field("int64")]
        named = [name for name in numbers if name.lower().rpartition("/")[2] in _LABEL_NAMES]
        obvious = numbers if len(numbers) == 1 else named
        return obvious[0] if len(obvious) == 1 else None


def _quoted(field: object) -> str:
    return f'"{field}"' if isinstance(field, Field) else repr(field)


def given(features: object) -> Spec:
    """Return the fields that the user gave.

    Raises:
        UsageError: they are none.
    """
    if not isinstance(features, Mapping) or not features:
        raise UsageError(
            f"records(features={features!r}): give a dict of names and kinds, such as "
            '{"image": "image", "label": "int64"}, or the features of tf.io.parse_example.'
        )
    return Spec({str(name): _field(str(name), value) for name, value in features.items()})


def _number(value: Any) -> Field | None:  # a feature of tf.io
    """Return a feature of numbers in our words, if they can say all of it."""
    import tensorflow as tf

    is_plain = isinstance(value, tf.io.FixedLenFeature) and value.default_value is None
    if not is_plain or value.dtype not in (tf.int64, tf.float32):
        return None
    return Field(value.dtype.name, tuple(value.shape))


def _field(name: str, value: object) -> object:
    if not isinstance(value, str):
        if type(value).__module__.startswith("tensorflow."):
            return _number(value) or value
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
        return Field(kind)
    sides = tuple(int(side) for side in re.findall(r"\d+", found[2]))
    return Field(kind, sides or None)

"""Labels that the user gives: numbers are kept, names become classes."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from quickfit.data.entries import NO_LABEL
from quickfit.data.sources.names import shown
from quickfit.errors import UsageError

# More classes than any public data set has; a larger number is an id or a measured value.
MAX_LABEL = 99_999

# What tables write where there is nothing; comparing with themselves fails for some of them.
_MISSING = ("nan", "<NA>", "NaT")
_WHOLE = re.compile(r"-1|0|[1-9][0-9]{0,4}")
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")
_NOT_UTF8 = re.compile("[\ud800-\udfff]")

Labels: TypeAlias = "tuple[array[int], tuple[str, ...]]"


def encode(values: Iterable[Any], names: Sequence[str]) -> Labels:  # Any: whatever the user has
    """Return a number for each image, and the classes.

    Args:
        values: whole numbers from 0 (-1: no label) or texts, one for each image.
        names: of the images, for messages.

    Raises:
        UsageError: there are too few or too many, or one is neither.
    """
    given = _flat(values)
    if len(given) != len(names):
        raise UsageError(
            f"labels has {len(given):,} items for {len(names):,} images.\n"
            "Give one label for each image, in the same order."
        )
    for value, name in zip(given, names, strict=True):
        if value is None or (not isinstance(value, str) and str(value) in _MISSING):
            raise UsageError(
                f"the label of {shown(name)} is missing ({value}).\n"
                "Give every image a label; the number -1 stands for none."
            )
    texts = [value for value in given if isinstance(value, str)]
    if not texts:
        return _numbers([_number(value, name) for value, name in zip(given, names, strict=True)])
    if len(texts) < len(given):
        value, name = next(
            pair for pair in zip(given, names, strict=True) if not isinstance(pair[0], str)
        )
        raise UsageError(
            f"labels mixes texts ({texts[0]!r}) and other values ({value!r}, for {shown(name)}).\n"
            "Give whole numbers only, or texts only."
        )
    return _classes(texts, names)


def encode_text(values: Sequence[str], names: Sequence[str]) -> Labels:
    """Return labels read from a text file, where whole numbers are written as text too.

    Raises:
        UsageError: one is missing.
    """
    if values and all(_WHOLE.fullmatch(value.strip()) for value in values):
        return _numbers([int(value) for value in values])
    # pandas writes whole numbers with a point where one of them was missing.
    if values and all(_DECIMAL.fullmatch(value.strip()) for value in values):
        pairs = zip(values, names, strict=True)
        return _numbers([_number(float(value), name) for value, name in pairs])
    return _classes(values, names)


def _flat(values: Iterable[Any]) -> list[Any]:  # Any: arrays and series of every library
    shape = getattr(values, "shape", None)
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        values = values.reshape(-1)  # type: ignore[attr-defined]  # an array: it has a shape
    elif shape is not None and len(shape) != 1:
        raise UsageError(
            f"labels has the shape {tuple(shape)}: one number or text for each image is needed.\n"
            "For one-hot labels give labels.argmax(axis=1)."
        )
    return [value.decode() if isinstance(value, bytes) else value for value in values]


def _number(value: Any, name: str) -> int:  # Any: whatever the user has
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not number.is_integer():
        raise UsageError(
            f"the label {value!r} of {shown(name)} is no whole number and no text.\n"
            "Labels are classes: give numbers from 0, or names."
        )
    return int(number)


def _numbers(numbers: list[int]) -> Labels:
    low, high = min(numbers, default=0), max(numbers, default=0)
    if low < NO_LABEL or high > MAX_LABEL:
        raise UsageError(
            f"labels go from {low:,} to {high:,}: numbers are kept as they are, so they have to "
            f"be from 0 to {MAX_LABEL:,} (-1: no label).\n"
            "To make a class of each value give texts: [str(label) for label in labels]."
        )
    return array("q", numbers), tuple(str(number) for number in range(high + 1))


def _classes(texts: Sequence[str], names: Sequence[str]) -> Labels:
    for text, name in zip(texts, names, strict=True):
        if not text.strip():
            raise UsageError(
                f"the label of {shown(name)} is empty.\nGive every image a label, or leave all out."
            )
        if not text.isascii() and _NOT_UTF8.search(text):
            raise UsageError(
                f"the label {text!r} of {shown(name)} is no UTF-8.\nSave the list as UTF-8 text."
            )
    classes = sorted({text.strip() for text in texts})
    places = {text: number for number, text in enumerate(classes)}
    return array("q", [places[text.strip()] for text in texts]), tuple(classes)

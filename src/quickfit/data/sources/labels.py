"""Labels and classes: from the user, from class folders; and splits that keep their shares."""

from __future__ import annotations

import hashlib
import math
import os
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from quickfit.data.entries import NO_LABEL, Entry, Reason
from quickfit.data.sources.listing import Gathered, is_usable, printable_name
from quickfit.errors import UsageError

# More classes than any public data set has; a larger number is an id or a measured value.
MAX_LABEL = 99_999

# What tables write where there is nothing; comparing with themselves fails for some of them.
_MISSING = ("nan", "<NA>", "NaT")
_WHOLE = re.compile(r"-1|0|[1-9][0-9]{0,4}")
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")
_NOT_UTF8 = re.compile("[\ud800-\udfff]")

Labels: TypeAlias = "tuple[array[int], tuple[str, ...]]"
# Nobody trains to tell a validation set from a training set, but many give the folder of both.
_SPLITS = {"train", "training", "val", "valid", "validation", "test", "testing", "dev"}
# What is rejected for these says nothing about classes: `../x/1.jpg` is none of class `..`.
_NO_CLASS = {Reason.UNSAFE_PATH, Reason.LINK_LOOP}
# Shares such as 1/3 are not exact.
_TOLERANCE = 1e-6


def encode_labels(
    values: Iterable[Any], names: Sequence[str]
) -> Labels:  # Any: whatever the user has
    """Return a number for each image, and the classes.

    Args:
        values: whole numbers from 0 (-1: no label) or texts, one for each image.
        names: of the images, for messages.

    Raises:
        UsageError: there are too few or too many, or one is neither.
    """
    given = _flat_values(values)
    if len(given) != len(names):
        raise UsageError(
            f"labels has {len(given):,} items for {len(names):,} images.\n"
            "Give one label for each image, in the same order."
        )
    for value, name in zip(given, names, strict=True):
        if value is None or (not isinstance(value, str) and str(value) in _MISSING):
            raise UsageError(
                f"the label of {printable_name(name)} is missing ({value}).\n"
                "Give every image a label; the number -1 stands for none."
            )
    texts = [value for value in given if isinstance(value, str)]
    if not texts:
        return _number_labels(
            [_label_number(value, name) for value, name in zip(given, names, strict=True)]
        )
    if len(texts) < len(given):
        value, name = next(
            pair for pair in zip(given, names, strict=True) if not isinstance(pair[0], str)
        )
        raise UsageError(
            f"labels mixes texts ({texts[0]!r}) and other values ({value!r}, for "
            f"{printable_name(name)}).\n"
            "Give whole numbers only, or texts only."
        )
    return _class_labels(texts, names)


def encode_label_texts(values: Sequence[str], names: Sequence[str]) -> Labels:
    """Return labels read from a text file, where whole numbers are written as text too.

    Raises:
        UsageError: one is missing.
    """
    if values and all(_WHOLE.fullmatch(value.strip()) for value in values):
        return _number_labels([int(value) for value in values])
    # pandas writes whole numbers with a point where one of them was missing.
    if values and all(_DECIMAL.fullmatch(value.strip()) for value in values):
        pairs = zip(values, names, strict=True)
        return _number_labels([_label_number(float(value), name) for value, name in pairs])
    return _class_labels(values, names)


def _flat_values(values: Iterable[Any]) -> list[Any]:  # Any: arrays and series of every library
    shape = getattr(values, "shape", None)
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        values = values.reshape(-1)  # type: ignore[attr-defined]  # an array: it has a shape
    elif shape is not None and len(shape) != 1:
        raise UsageError(
            f"labels has the shape {tuple(shape)}: one number or text for each image is needed.\n"
            "For one-hot labels give labels.argmax(axis=1)."
        )
    return [value.decode() if isinstance(value, bytes) else value for value in values]


def _label_number(value: Any, name: str) -> int:  # Any: whatever the user has
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not number.is_integer():
        raise UsageError(
            f"the label {value!r} of {printable_name(name)} is no whole number and no text.\n"
            "Labels are classes: give numbers from 0, or names."
        )
    return int(number)


def _number_labels(numbers: list[int]) -> Labels:
    low, high = min(numbers, default=0), max(numbers, default=0)
    if low < NO_LABEL or high > MAX_LABEL:
        raise UsageError(
            f"labels go from {low:,} to {high:,}: numbers are kept as they are, so they have to "
            f"be from 0 to {MAX_LABEL:,} (-1: no label).\n"
            "To make a class of each value give texts: [str(label) for label in labels]."
        )
    return array("q", numbers), tuple(str(number) for number in range(high + 1))


def _class_labels(texts: Sequence[str], names: Sequence[str]) -> Labels:
    for text, name in zip(texts, names, strict=True):
        if not text.strip():
            raise UsageError(
                f"the label of {printable_name(name)} is empty.\nGive every image a label, or "
                "leave all out."
            )
        if not text.isascii() and _NOT_UTF8.search(text):
            raise UsageError(
                f"the label {text!r} of {printable_name(name)} is no UTF-8.\nSave the list as "
                "UTF-8 text."
            )
    classes = sorted({text.strip() for text in texts})
    places = {text: number for number, text in enumerate(classes)}
    return array("q", [places[text.strip()] for text in texts]), tuple(classes)


def label_by_folder(gathered: Gathered, top: str = "") -> tuple[array[int] | None, tuple[str, ...]]:
    """Return the label of each image gathered and the classes; None without class folders.

    Images that lie beside the class folders have no class: they are rejected, not dropped.

    Args:
        gathered: the images; those without a class are taken out.
        top: the folder that class folders lie in, with its slash.
    """
    firsts = [_class_folder_of(name, top) for name in gathered.names]
    if not any(firsts):
        return None, ()
    classes = _folder_classes(gathered, firsts, top)
    numbers = {name: number for number, name in enumerate(classes)}
    if not all(firsts):
        _reject_outside(gathered, firsts)
    return array("q", [numbers[first] for first in firsts if first]), classes


def folder_notes(names: list[str], classes: tuple[str, ...], top: str, offer: str) -> list[str]:
    """Return what looks like a misunderstanding about the classes, and what to do.

    Args:
        names: of the images.
        classes: that were found.
        top: the folder that class folders lie in, with its slash.
        offer: what the user gives to use that folder: its path, or an option.
    """
    return _on_empty(names, classes, top) + _on_levels(names, classes, top, offer)


def _on_empty(names: list[str], classes: tuple[str, ...], top: str) -> list[str]:
    empty = sorted(set(classes) - {_class_folder_of(name, top) for name in names})
    if not empty:
        return []
    some = printable_name(", ".join(empty[:3])) + (", …" if len(empty) > 3 else "")
    return [f"no image in the class {some}: it keeps its number; move a folder away that is none"]


def _on_levels(names: list[str], classes: tuple[str, ...], top: str, offer: str) -> list[str]:
    first = printable_name(classes[0]) if classes else ""
    if len(classes) > 1 and {name.lower() for name in classes} <= _SPLITS:
        return [
            f"the classes are {', '.join(classes)}: these look like splits. To use what lies in "
            f"one of them give {offer}{first}"
        ]
    if len(classes) == 1:
        below = {_class_folder_of(name, f"{top}{classes[0]}/") for name in names} - {""}
        if len(below) > 1:
            some = printable_name(", ".join(sorted(below)[:3]))
            return [
                f"there is one class, {first}, and folders in it ({some}). To make classes of "
                f"those give {offer}{first}"
            ]
    return []


def _folder_classes(gathered: Gathered, firsts: list[str], top: str) -> tuple[str, ...]:
    names = set(firsts)
    names |= {
        _class_folder_of(item.name, top)
        for item in gathered.rejected
        if item.reason not in _NO_CLASS
    }
    # As Keras counts: a folder without images has its number too, so that a training and a
    # validation folder with the same classes agree on it.
    names |= set(gathered.folders)
    # A link may have the name of a folder that has images.
    names -= {i.name for i in gathered.rejected if i.reason in _NO_CLASS} - set(firsts)
    names.discard("")
    keep = gathered.keep_odd_names
    usable = [name for name in names if is_usable(name, keep_odd_names=keep)]
    return tuple(sorted(usable, key=os.fsencode))


def _reject_outside(gathered: Gathered, firsts: list[str]) -> None:
    kept = [position for position, first in enumerate(firsts) if first]
    detail = "it lies outside of the class folders: move it into one"
    for position, first in enumerate(firsts):
        if not first:
            gathered.reject(gathered.names[position], Reason.NO_CLASS, detail)
    gathered.names = [gathered.names[position] for position in kept]
    gathered.sizes = array("q", [gathered.sizes[position] for position in kept])
    gathered.offsets = array("q", [gathered.offsets[position] for position in kept])


def _class_folder_of(name: str, top: str) -> str:
    """Return the class folder of an image; empty if it lies in none."""
    if not name.startswith(top):
        return ""
    first, slash, _ = name[len(top) :].partition("/")
    return first if slash else ""


def split_entries(
    entries: Sequence[Entry], shares: float | Sequence[float], seed: int = 0
) -> list[list[Entry]]:
    """Return the parts of a split, each in the order of the entries.

    Every class is split alike. Which part an image goes to follows from its name and the seed: it
    stays there when others are added or the order changes, as far as the exact counts allow.

    Args:
        entries: the images.
        shares: of each part, together 1; a single number is the share of the second of two.
        seed: another one gives another split.

    Raises:
        UsageError: the shares are none, or a part would be empty.
    """
    checked = _check_shares(shares)
    totals = _part_sizes(checked, len(entries))
    classes = _shuffled_classes(entries, seed)
    # From the last on: the first part is what the others leave.
    parts = [_take_from_classes(classes, total, seed) for total in totals[:0:-1]]
    parts.append([position for members in classes.values() for position in members])
    return [[entries[position] for position in sorted(part)] for part in reversed(parts)]


def _shuffled_classes(entries: Sequence[Entry], seed: int) -> dict[int, list[int]]:
    """Return the positions of each class's images, in an order that the seed and names draw."""
    classes: dict[int, list[int]] = defaultdict(list)
    draws = []
    for position, entry in enumerate(entries):
        draws.append(_draw_key(seed, entry.name))
        classes[entry.label].append(position)
    for members in classes.values():
        members.sort(key=draws.__getitem__)
    return classes


def _take_from_classes(classes: dict[int, list[int]], total: int, seed: int) -> list[int]:
    """Take `total` images off the ends of the classes, from each according to its size."""
    left = sum(len(members) for members in classes.values())
    counts = {label: total * len(members) // left for label, members in classes.items()}
    rounded_off = sorted(
        classes,
        key=lambda label: (-(total * len(classes[label]) % left), _draw_key(seed, str(label))),
    )
    for label in rounded_off[: total - sum(counts.values())]:
        counts[label] += 1
    taken = []
    for label, members in classes.items():
        keep = len(members) - counts[label]
        taken += members[keep:]
        del members[keep:]
    return taken


def _part_sizes(shares: list[float], count: int) -> list[int]:
    """Return how many images each part has: exact, by the largest remainders."""
    totals = [math.floor(share * count + _TOLERANCE) for share in shares]
    order = sorted(range(len(shares)), key=lambda part: (totals[part] - shares[part] * count, part))
    for part in order[: count - sum(totals)]:
        totals[part] += 1
    if not all(totals):
        raise UsageError(
            f"{count:,} images cannot be split into {', '.join(f'{share:g}' for share in shares)}: "
            f"the parts would have {', '.join(map(str, totals))}.\n"
            "Give more images, or a larger share."
        )
    return totals


def _check_shares(shares: float | Sequence[float]) -> list[float]:
    given = [1 - shares, shares] if isinstance(shares, int | float) else [*shares]
    if len(given) < 2 or not all(0 < share < 1 for share in given):
        raise UsageError(
            f"the split {shares!r} is none: give the share of the second part (0.2), or of all "
            "parts (0.8, 0.1, 0.1), each between 0 and 1."
        )
    if abs(math.fsum(given) - 1) > _TOLERANCE:
        raise UsageError(
            f"the shares of the split {shares!r} sum to {math.fsum(given):g}: they have to sum "
            "to 1."
        )
    return given


def _draw_key(seed: int, text: str) -> bytes:
    """Return a number, as bytes, that looks random and is the same everywhere."""
    key = f"{seed}/{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(key, digest_size=8).digest()

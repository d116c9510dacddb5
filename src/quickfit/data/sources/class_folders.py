"""Classes from folders: the first level below the root names the class of what lies in it."""

from __future__ import annotations

import os
from array import array

from quickfit.data.entries import Reason
from quickfit.data.sources.listing import Gathered
from quickfit.data.sources.names import is_usable, shown

# Nobody trains to tell a validation set from a training set, but many give the folder of both.
_SPLITS = {"train", "training", "val", "valid", "validation", "test", "testing", "dev"}
# What is rejected for these says nothing about classes: `../x/1.jpg` is none of class `..`.
_NO_CLASS = {Reason.UNSAFE_PATH, Reason.LINK_LOOP}


def label_by_folder(gathered: Gathered, top: str = "") -> tuple[array[int] | None, tuple[str, ...]]:
    """Return the label of each image gathered and the classes; None without class folders.

    Images that lie beside the class folders have no class: they are rejected, not dropped.

    Args:
        gathered: the images; those without a class are taken out.
        top: the folder that class folders lie in, with its slash.
    """
    firsts = [_first(name, top) for name in gathered.names]
    if not any(firsts):
        return None, ()
    classes = _classes(gathered, firsts, top)
    numbers = {name: number for number, name in enumerate(classes)}
    if not all(firsts):
        _reject_outside(gathered, firsts)
    return array("q", [numbers[first] for first in firsts if first]), classes


def notes_on(names: list[str], classes: tuple[str, ...], top: str, offer: str) -> list[str]:
    """Return what looks like a misunderstanding about the classes, and what to do.

    Args:
        names: of the images.
        classes: that were found.
        top: the folder that class folders lie in, with its slash.
        offer: what the user gives to use that folder: its path, or an option.
    """
    return _on_empty(names, classes, top) + _on_levels(names, classes, top, offer)


def _on_empty(names: list[str], classes: tuple[str, ...], top: str) -> list[str]:
    empty = sorted(set(classes) - {_first(name, top) for name in names})
    if not empty:
        return []
    some = shown(", ".join(empty[:3])) + (", …" if len(empty) > 3 else "")
    return [f"no image in the class {some}: it keeps its number; move a folder away that is none"]


def _on_levels(names: list[str], classes: tuple[str, ...], top: str, offer: str) -> list[str]:
    first = shown(classes[0]) if classes else ""
    if len(classes) > 1 and {name.lower() for name in classes} <= _SPLITS:
        return [
            f"the classes are {', '.join(classes)}: these look like splits. To use what lies in "
            f"one of them give {offer}{first}"
        ]
    if len(classes) == 1:
        below = {_first(name, f"{top}{classes[0]}/") for name in names} - {""}
        if len(below) > 1:
            some = shown(", ".join(sorted(below)[:3]))
            return [
                f"there is one class, {first}, and folders in it ({some}). To make classes of "
                f"those give {offer}{first}"
            ]
    return []


def _classes(gathered: Gathered, firsts: list[str], top: str) -> tuple[str, ...]:
    names = set(firsts)
    names |= {_first(item.name, top) for item in gathered.rejected if item.reason not in _NO_CLASS}
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


def _first(name: str, top: str) -> str:
    """Return the class folder of an image; empty if it lies in none."""
    if not name.startswith(top):
        return ""
    first, slash, _ = name[len(top) :].partition("/")
    return first if slash else ""

"""Samples and labels from a `.npz` file of NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quickfit.arrays import DamagedArraysError, open_arrays
from quickfit.compression.calibrating.inputs import Wanted
from quickfit.errors import UsageError

# Arrays are `Any`: numbers of every type.

# Pairs of names that people use, in the order of what says most about a model: samples that it was
# not trained on come first.
_PAIRS = (
    *(("x", "y"), ("x_val", "y_val"), ("x_valid", "y_valid"), ("x_test", "y_test")),
    *(("images", "labels"), ("data", "labels"), ("data", "target"), ("features", "labels")),
    *(("x", "labels"), ("test_images", "test_labels"), ("x_train", "y_train")),
    *(("train_images", "train_labels"), ("arr_0", "arr_1")),
)
_LABELS = ("y", "labels", "label", "target", "y_val", "y_test")


def read_npz(path: Path, wanted: list[Wanted]) -> tuple[Any, Any]:
    """Return what a model takes in (a dict by input name, or an array), and the labels.

    Raises:
        UsageError: it is no such file, or has no pair of arrays in it.
    """
    try:
        with open_arrays(path) as file:
            if not hasattr(file, "files"):
                raise UsageError(f"{path}: this is a single array. {_how()}")
            return _read(file, path, wanted)
    except DamagedArraysError as error:
        raise UsageError(f"{path}: it cannot be read ({error}). {_how()}") from error


def _read(file: Any, path: Path, wanted: list[Wanted]) -> tuple[Any, Any]:
    names = {name.lower(): name for name in file.files}
    inputs = {key: names[key.lower()] for one in wanted for key in one.keys if key.lower() in names}
    labels = next((names[key] for key in _LABELS if key in names), None)
    if inputs and labels is not None and len(wanted) > 1:
        return {key: file[name] for key, name in inputs.items()}, file[labels]
    for x, y in _PAIRS:
        if x in names and y in names:
            return file[names[x]], file[names[y]]
    found = ", ".join(file.files[:8]) or "nothing"
    raise UsageError(f"{path}: which arrays of it are samples and labels? It has {found}. {_how()}")


def _how() -> str:
    return "Write it with np.savez('data.npz', x=samples, y=labels)."

"""How a child comes to the model and the data: by name, by function, or from saved files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from quickfit.errors import UsageError

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class Kind(StrEnum):
    """Where the model and the data come from."""

    NAME = "name"
    FUNCTION = "function"
    MODEL = "model"


@dataclass(frozen=True)
class Recipe:
    """What every child of a comparison builds anew.

    Args:
        kind: where it comes from.
        name: what to call it in messages; for `Kind.NAME` also where it is.
        cwd: the folder the child works in.
        payload: a function, pickled.
        folder: holds samples of the data, and for `Kind.MODEL` the saved model.
        batch_size: samples per step where the data are arrays; 32 as `fit` has it otherwise.
    """

    kind: Kind
    name: str
    cwd: Path
    payload: bytes = b""
    folder: Path | None = None
    batch_size: int | None = None

    @property
    def keeps_input(self) -> bool:
        """Whether the child's input is the user's own pipeline, not samples kept of it."""
        return self.folder is None


def by_name(name: str, *, cwd: Path, batch_size: int | None = None) -> Recipe:
    """Return the recipe of `module:function`, found from a folder.

    Raises:
        UsageError: it does not read like that, or there is no such folder.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} does not name a function. Write it as module:function, for example "
            "train:build for the function `build` in train.py."
        )
    if not cwd.is_dir():
        raise UsageError(f"{cwd} is no folder, so {name} cannot be looked for there.")
    return Recipe(Kind.NAME, name, cwd.absolute(), batch_size=batch_size)


def by_function(build: Callable[..., Any], *, batch_size: int | None = None) -> Recipe:
    """Return the recipe of a function of this process.

    Raises:
        ModelError: it refers to something that exists only in this process.
    """
    from quickfit.tuning.trials.carrying import packed

    name = str(getattr(build, "__qualname__", type(build).__name__))
    return Recipe(Kind.FUNCTION, name, Path.cwd(), packed(build, name), batch_size=batch_size)


def by_model(model: Any, data: Any, folder: Path, *, batch_size: int | None = None) -> Recipe:
    """Return the recipe of a compiled model and its data, kept in a folder.

    Args:
        model: a compiled Keras model; it is saved, not changed.
        data: a `tf.data.Dataset` of batches, arrays `(x, y)`, or a `PyDataset`; a few thousand
            samples of it are kept.
        folder: an empty one; the caller removes it.
        batch_size: samples per step where the data are arrays.

    Raises:
        ModelError: the model cannot be saved, or not be read again.
    """
    from quickfit.tuning.trials.saving import save

    kept = save(model, data, folder, batch_size)
    return Recipe(Kind.MODEL, "the model", Path.cwd(), folder=folder, batch_size=kept)


def by_parts(build: Callable[[], Any], data: Any, folder: Path) -> Recipe:
    """Return the recipe of a function that makes the model alone, and of data kept in a folder.

    Raises:
        ModelError: one of them cannot be taken to another process.
    """
    from quickfit.tuning.trials.beside import Beside
    from quickfit.tuning.trials.carrying import packed
    from quickfit.tuning.trials.saving import save_data

    name = str(getattr(build, "__qualname__", type(build).__name__))
    batch = save_data(data, folder, None)
    payload = packed(Beside(packed(build, name), folder), name)
    return Recipe(Kind.FUNCTION, name, Path.cwd(), payload, folder, batch)

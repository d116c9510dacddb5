"""Finds the files that a user means: a pack, a folder, a pattern, or a list."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NoReturn

from quickfit.data.packing.layout import Layout
from quickfit.data.packing.manifest import KIND
from quickfit.errors import PipelineError, UsageError

Where = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

# What writers of TFRecord files call them: `train.tfrecord-00000-of-00004`, `a.tfrec`, …
_NAME = ".tfrec"
_PATTERN_LETTERS = frozenset("*?[")
_MOST_SHOWN = 5


def is_remote(where: object) -> bool:
    """Return whether TensorFlow has to open it: `gs://…`, `hdfs://…`."""
    return isinstance(where, str) and "://" in where


def pack_in(where: Where) -> Path | None:
    """Return the folder of a pack; None for everything else."""
    if is_remote(where) or not isinstance(where, str | os.PathLike):
        return None
    folder = Path(where).expanduser()
    layout = Layout(folder)
    if layout.manifest.is_file():
        return folder if _is_packs(layout.manifest) else None
    return folder if layout.plan.exists() else None


def _is_packs(manifest: Path) -> bool:
    """Return whether a manifest is a pack's, or too damaged to be anybody else's."""
    try:
        values = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return not _in_folder(manifest.parent)
    return isinstance(values, dict) and values.get("kind") == KIND


def files_of(where: Where) -> list[str]:
    """Return the files, sorted where the user gave no order.

    Raises:
        PipelineError: there are none.
        UsageError: it is nothing that names files.
    """
    if isinstance(where, str | os.PathLike):
        return _from_text(os.fspath(where))
    files = _listed(where)
    if not files:
        raise PipelineError("records([]): the list of files is empty.")
    if folders := [file for file in files if os.path.isdir(file)]:
        raise UsageError(
            f"{folders[0]}: is a folder, and a list must name files. Give one folder alone, or "
            "make a dataset of each: records(a).concatenate(records(b))"
        )
    missing = [file for file in files if not is_remote(file) and not os.path.isfile(file)]
    if missing:
        raise PipelineError(
            f"{missing[0]}: there is no such file ({len(missing):,} of the {len(files):,} files "
            "of the list are missing)."
        )
    return files


def _listed(where: object) -> list[str]:
    try:
        if isinstance(where, bytes | Mapping):
            raise TypeError
        return [os.path.expanduser(os.fspath(file)) for file in where]  # type: ignore[attr-defined]
    except TypeError:
        raise UsageError(
            f"records({where!r}): give a pack, a folder, a pattern such as "
            "'data/train-*.tfrecord', or a list of files."
        ) from None


def _from_text(where: str) -> list[str]:
    if is_remote(where):
        return _remote(where)
    where = os.path.expanduser(where)
    if os.path.isfile(where):
        return [where]
    if os.path.isdir(where):
        return _in_folder(Path(where)) or _nothing_in(where)
    if _PATTERN_LETTERS & set(where):
        found = sorted(file for file in glob.glob(where, recursive=True) if os.path.isfile(file))
        return found or _no_match(where)
    raise PipelineError(f"{where}: there is no such file or folder.{_beside(where)}")


def _in_folder(folder: Path) -> list[str]:
    return sorted(
        str(file)
        for file in folder.iterdir()
        if _NAME in file.name and not file.name.startswith(".") and file.is_file()
    )


def _remote(where: str) -> list[str]:
    import tensorflow as tf

    pattern = where
    if tf.io.gfile.isdir(where):
        pattern = f"{where.rstrip('/')}/*{_NAME}*"
    found: list[str] = sorted(tf.io.gfile.glob(pattern))
    if not found:
        raise PipelineError(f"{where}: no file matches {pattern}.")
    return found


def _nothing_in(folder: str) -> NoReturn:
    raise PipelineError(
        f"{folder}: the folder holds no TFRecord files (names with {_NAME!r} in them)."
        f"{_listing(folder)}\n"
        f"Of a folder of images, make a pack:\n    quickfit pack {folder} DST\n"
        f"If the files have other names, give a pattern: records({os.path.join(folder, '*')!r})"
    )


def _no_match(pattern: str) -> NoReturn:
    raise PipelineError(f"{pattern}: no file matches this pattern.{_beside(pattern)}")


def _beside(path: str) -> str:
    """Return what is in the deepest folder of the path that exists."""
    folder = os.path.dirname(path) or "."
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder) or "."
    return _listing(folder)


def _listing(folder: str) -> str:
    names = sorted(os.listdir(folder))
    if not names:
        return f"\n{folder} is empty."
    shown = ", ".join(map(repr, names[:_MOST_SHOWN]))
    more = f" and {len(names) - _MOST_SHOWN:,} more" if len(names) > _MOST_SHOWN else ""
    return f"\n{folder} holds {shown}{more}."

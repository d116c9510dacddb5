"""The folder of a result: nothing of the user's is replaced, and every file is whole."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

from quickfit import units
from quickfit.compression.copying import rebuild_graph
from quickfit.compression.graph import graph_of
from quickfit.compression.quantizing.export import write_whole
from quickfit.errors import ModelError, UsageError

# Models are `Any`: Keras has no types of its own.

CANDIDATES = "candidates"
KERAS_MODEL, LITERT_MODEL = "model.keras", "model.tflite"
REPORT, REPORT_JSON, CHART = "report.md", "report.json", "chart.svg"
# All that we ever write: what `--force` may replace, and nothing else.
OURS = (KERAS_MODEL, LITERT_MODEL, REPORT, REPORT_JSON, CHART)
# About what all candidates take, in files of the original's size.
_FILES = 12


def check_folder(out: Path, *, replaces: bool) -> None:
    """Find out before the work whether its results can be written.

    Raises:
        UsageError: it is a file, has an earlier result, or may not be written to.
    """
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out}: this is a file. Name a folder.")
    there = [name for name in (*OURS, CANDIDATES) if (out / name).exists()]
    if there and not replaces:
        raise UsageError(
            f"--out {out}: there is an earlier result in it ({', '.join(there)}).\n"
            "Name another folder, or replace it with --force."
        )
    above = next(one for one in (out, *out.absolute().parents) if one.exists())
    if not above.is_dir():
        raise UsageError(f"--out {out}: {above} is a file, so there can be no folder in it.")
    if not os.access(above, os.W_OK | os.X_OK):
        raise UsageError(f"--out {out}: nothing may be written to {above}.")


class ResultFolder:
    """Where results go.

    Args:
        out: a folder, which is made; None for one that goes away.
        replaces: whether an earlier result is removed first.
    """

    def __init__(self, out: Path | None, *, replaces: bool = False) -> None:
        self.is_kept = out is not None
        if out is None:
            self.path = Path(tempfile.mkdtemp(prefix="quickfit-shrink-"))
        else:
            check_folder(out, replaces=replaces)
            self.path = out
        with _explain_write_errors(self.path):
            self._clear()
            (self.path / CANDIDATES).mkdir(parents=True, exist_ok=True)

    def check_room(self, file_bytes: int) -> None:
        """Find out whether all candidates fit onto the disk.

        Raises:
            UsageError: they do not.
        """
        needed, free = file_bytes * _FILES, shutil.disk_usage(self.path).free
        if free < needed:
            raise UsageError(
                f"{self.path}: there is too little room on the disk: {units.size(free)} are free,"
                f" and the models need about {units.size(needed)}. Name another folder with --out."
            )

    def candidate(self, name: str) -> Path:
        """Return where a candidate goes."""
        return self.path / CANDIDATES / name

    def save(self, model: Any, path: Path) -> None:
        """Write a Keras model, not compiled: the state of an optimizer would be most of the file.

        Raises:
            UsageError: there is no room.
            ModelError: Keras cannot save it.
        """
        copy = rebuild_graph(graph_of(model))
        aside = path.with_name(f".quickfit-{path.name}")
        with _explain_write_errors(path), _remove_at_end(aside):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # that a Lambda will not be loaded everywhere
                    copy.save(aside)
            except (TypeError, ValueError, NotImplementedError) as error:
                raise ModelError(f"{path.name}: Keras cannot save it ({error}).") from error
            os.replace(aside, path)

    def copy(self, source: Path, name: str) -> Path:
        """Put a file of a candidate into its place at the top."""
        with _explain_write_errors(self.path / name):
            write_whole(self.path / name, source.read_bytes())
        return self.path / name

    def write(self, name: str, text: str) -> Path:
        """Write a text file."""
        write_whole(self.path / name, text.encode())
        return self.path / name

    def remove(self) -> None:
        """Remove a folder that was to go away."""
        if not self.is_kept:
            shutil.rmtree(self.path, ignore_errors=True)

    def _clear(self) -> None:
        """Remove an earlier result: what we write, and nothing else."""
        for name in OURS:
            (self.path / name).unlink(missing_ok=True)
        for pattern in ("*.keras", "*.tflite"):
            for file in (self.path / CANDIDATES).glob(pattern):
                file.unlink()


@contextlib.contextmanager
def _explain_write_errors(path: Path) -> Any:
    try:
        yield
    except OSError as error:
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        raise UsageError(f"{path}: it cannot be written ({why}).") from error


@contextlib.contextmanager
def _remove_at_end(path: Path) -> Any:
    """Remove a file at the end, if it is still there."""
    try:
        yield
    finally:
        path.unlink(missing_ok=True)

"""Sends what TensorFlow and HDF5 write past Python to the shadow."""

from __future__ import annotations

import functools
import glob
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from quickfit.lab.sandbox.shadow import Shadow

Patch = Callable[[ModuleType], None]
# Environment of trackers: nothing leaves the machine, and what they keep goes to scratch.
TRACKERS = {
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
    "COMET_OFFLINE_DIRECTORY": "{scratch}/comet",
    "NEPTUNE_MODE": "offline",
    "WANDB_DIR": "{scratch}/tmp",
    "MLFLOW_TRACKING_URI": "file://{scratch}/mlruns",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
_FILE_IO = {
    "WritableFile": "write",
    "CreateDir": "write",
    "RecursivelyCreateDir": "write",
    "FileExists": "read",
    "IsDirectory": "read",
    "Stat": "read",
    "GetChildren": "read",
    "BufferedInputStream": "read",
    "ReadFileToString": "read",
}


def patches(shadow: Shadow) -> dict[str, Patch]:
    """Return what to patch after which import."""
    saved, written = shadow.saved, _written(shadow)
    return {
        "tensorflow.python.ops.summary_ops_v2": _each(
            _function("create_file_writer_v2", 0, "logdir", saved),
            _function("create_file_writer", 0, "logdir", saved),
        ),
        "tensorflow.python.checkpoint.checkpoint": _method(
            "TrackableSaver", "save", "file_prefix", saved
        ),
        "tensorflow.python.checkpoint.checkpoint_management": _each(
            _method("CheckpointManager", "__init__", "directory", saved, position=2),
            _function("latest_checkpoint", 0, "checkpoint_dir", _newest(shadow)),
        ),
        "tensorflow.python.saved_model.save": _function("save", 1, "export_dir", saved),
        "tensorflow.python.lib.io.tf_record": _method(
            "TFRecordWriter", "__init__", "path", written
        ),
        "tensorflow.python.lib.io.file_io": functools.partial(_patch_file_io, shadow),
        "tensorflow.python.data.ops.dataset_ops": _method(
            "DatasetV2", "cache", "filename", _cached(shadow)
        ),
        "h5py._hl.files": functools.partial(_patch_h5py, shadow),
    }


def _each(*patches: Patch) -> Patch:
    def patch(module: ModuleType) -> None:
        for one in patches:
            one(module)

    return patch


def _function(name: str, position: int, keyword: str, moved: Callable[[Any], Any]) -> Patch:
    def patch(module: ModuleType) -> None:
        setattr(module, name, _redirected(getattr(module, name), position, keyword, moved))

    return patch


def _method(
    owner: str, name: str, keyword: str, moved: Callable[[Any], Any], *, position: int = 1
) -> Patch:
    def patch(module: ModuleType) -> None:
        cls = getattr(module, owner)
        setattr(cls, name, _redirected(getattr(cls, name), position, keyword, moved))

    return patch


def _redirected(
    original: Callable[..., Any], position: int, keyword: str, moved: Callable[[Any], Any]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **keywords: Any) -> Any:
        if keyword in keywords:
            keywords[keyword] = moved(keywords[keyword])
        elif len(args) > position:
            args = (*args[:position], moved(args[position]), *args[position + 1 :])
        return original(*args, **keywords)

    return call


def _written(shadow: Shadow) -> Callable[[Any], Any]:
    return lambda path: shadow.to_write(path)


def _newest(shadow: Shadow) -> Callable[[Any], Any]:
    def moved(folder: Any) -> Any:
        full = shadow.path_of(folder)
        return shadow.twin(full) if full and os.path.isdir(shadow.twin(full)) else folder

    return moved


def _cached(shadow: Shadow) -> Callable[[Any], Any]:
    """Return where a cache of tf.data is: a complete one of the user is read, a new one is ours."""

    def moved(path: Any) -> Any:
        full = shadow.path_of(path) if isinstance(path, str) and path else None
        if full is None or glob.glob(glob.escape(full) + "*.index"):
            return path
        return shadow.saved(path)

    return moved


class _FileIO:
    """TensorFlow's functions on files, with paths looked up in the shadow."""

    def __init__(self, module: Any, shadow: Shadow) -> None:
        self._module = module
        moved = {
            "read": shadow.to_read,
            "write": shadow.saved,
        }
        for name, kind in _FILE_IO.items():
            if hasattr(module, name):
                setattr(self, name, _redirected(getattr(module, name), 0, "", moved[kind]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def DeleteFile(self, path: Any) -> None:  # noqa: N802
        self._delete(self._module.DeleteFile, path)

    def DeleteRecursively(self, path: Any) -> None:  # noqa: N802
        self._delete(self._module.DeleteRecursively, path)

    def _delete(self, original: Callable[[Any], None], path: Any) -> None:
        path = self.shadow.gone(path, "deletes")
        if path is not None:
            original(path)

    def RenameFile(self, source: Any, target: Any, *args: Any) -> Any:  # noqa: N802
        return self._module.RenameFile(*_both(self, source, target), *args)

    def CopyFile(self, source: Any, target: Any, *args: Any) -> Any:  # noqa: N802
        return self._module.CopyFile(*_both(self, source, target), *args)

    shadow: Shadow


def _both(file_io: _FileIO, source: Any, target: Any) -> tuple[Any, Any]:
    return file_io.shadow.to_read(source), file_io.shadow.saved(target)


def _patch_file_io(shadow: Shadow, module: ModuleType) -> None:
    proxy = _FileIO(module._pywrap_file_io, shadow)
    proxy.shadow = shadow
    module._pywrap_file_io = proxy  # type: ignore[attr-defined]


def _patch_h5py(shadow: Shadow, module: ModuleType) -> None:
    original = module.File.__init__

    @functools.wraps(original)
    def init(self: Any, name: Any, mode: str = "r", *args: Any, **keywords: Any) -> None:
        if isinstance(name, (str, bytes, os.PathLike)):
            is_read = mode == "r"
            name = shadow.to_read(name) if is_read else shadow.to_write(name, keeps=mode != "w")
        original(self, name, mode, *args, **keywords)

    module.File.__init__ = init

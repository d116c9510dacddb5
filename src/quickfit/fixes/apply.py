"""Writes fixed files, after saving the originals, and puts the originals back.

Everything is written aside first and renamed into place: a kill at any moment leaves each file
as it was or as it becomes, and the originals are saved before the first one changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quickfit.errors import FixError
from quickfit.fixes.files import SourceFile

MANIFEST = "fix.json"
_FOLDER = Path(".quickfit") / "fixes"


def write(files: Mapping[str, tuple[SourceFile, bytes]], *, home: Path, title: str) -> Path:
    """Write files, all or none; return the folder that holds the originals.

    Args:
        files: each file as it was when the fix was made, and its new bytes.
        home: the folder below which `.quickfit` lies.
        title: what was done, for `--undo` to say.

    Raises:
        FixError: a file has changed since, or cannot be written.
    """
    for path, (before, _) in files.items():
        _check_unchanged(path, before.sha256)
    saved = _save(files, home, title)
    done: list[str] = []
    try:
        for path, (_, after) in files.items():
            _replace(path, after)
            done.append(path)
    except OSError as error:
        for path in done:
            _replace(path, files[path][0].data)
        shutil.rmtree(saved, ignore_errors=True)
        raise FixError(
            f"{error.filename or path}: cannot write the fix ({error.strerror}).\n"
            "No file was changed. Make the file writable, or take the patch: quickfit fix --diff"
        ) from error
    return saved


def undo(*, home: Path) -> tuple[str, list[str]]:
    """Put back the originals of the newest fix; return what it was, and the files.

    Raises:
        FixError: there is none, or a file has changed since it was fixed.
    """
    folder = _newest(home)
    facts = _manifest(folder)
    for entry in facts["files"]:
        _check_unchanged(entry["path"], entry["after"], undoing=True)
        original = folder / entry["saved"]
        if hashlib.sha256(original.read_bytes()).hexdigest() != entry["before"]:
            raise FixError(f"{original}: the saved original is damaged; nothing was put back.")
    for entry in facts["files"]:
        _replace(entry["path"], (folder / entry["saved"]).read_bytes())
    shutil.rmtree(folder)
    return str(facts["title"]), [str(entry["path"]) for entry in facts["files"]]


def _check_unchanged(path: str, sha256: str, *, undoing: bool = False) -> None:
    try:
        now = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise FixError(f"{path}: cannot read this file ({error.strerror}).") from error
    if now != sha256:
        when = "it was fixed" if undoing else "the run that the fix was made from"
        hint = (
            "Its original is in .quickfit/fixes; compare by hand."
            if undoing
            else "Run quickfit fix again to make the fix from the file as it is."
        )
        raise FixError(f"{path}: has changed since {when}, so it is left alone.\n{hint}")


def _save(files: Mapping[str, tuple[SourceFile, bytes]], home: Path, title: str) -> Path:
    folder = home / _FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    try:
        folder.mkdir(parents=True)
        ignore = home / ".quickfit" / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        entries = [_save_one(folder, number, *item) for number, item in enumerate(files.items())]
        facts = {"title": title, "at": time.time(), "files": entries}
        _write_aside(folder / MANIFEST, json.dumps(facts, indent=1).encode())
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise FixError(
            f"{folder}: cannot save the original files ({error.strerror}), so nothing was changed."
        ) from error
    return folder


def _save_one(
    folder: Path, number: int, path: str, change: tuple[SourceFile, bytes]
) -> dict[str, str]:
    before, after = change
    name = f"{number}-{Path(path).name}"
    _write_aside(folder / name, before.data)
    return {
        "path": path,
        "saved": name,
        "before": before.sha256,
        "after": hashlib.sha256(after).hexdigest(),
    }


def _replace(path: str, data: bytes) -> None:
    """Put data in the place of a file, which keeps its mode; a link stays one."""
    real = Path(os.path.realpath(path))
    aside = real.with_name(f".{real.name}.quickfit-{os.getpid()}")
    try:
        if not os.access(real, os.W_OK):
            raise PermissionError(13, "Permission denied", str(real))
        _write_aside(aside, data)
        shutil.copymode(real, aside)
        os.replace(aside, real)
    finally:
        aside.unlink(missing_ok=True)


def _write_aside(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _newest(home: Path) -> Path:
    found = sorted((home / _FOLDER).glob(f"*/{MANIFEST}"), key=lambda f: f.stat().st_mtime_ns)
    if not found:
        raise FixError(
            f"{home / _FOLDER}: there is no fix to undo here.\n"
            "Run it in the folder where `quickfit fix --apply` was run."
        )
    return found[-1].parent


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        facts = json.loads((folder / MANIFEST).read_text())
        entries = [(e["path"], e["saved"], e["before"], e["after"]) for e in facts["files"]]
        is_text = all(isinstance(value, str) for entry in entries for value in entry)
        if is_text and all(Path(saved).name == saved for _, saved, _, _ in entries):
            return {"title": str(facts.get("title", "")), "files": facts["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise FixError(f"{folder / MANIFEST}: is damaged; the saved originals are beside it.")

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
    try:
        _replace_all({path: after for path, (_, after) in files.items()})
    except OSError as error:
        _put_back({path: before.data for path, (before, _) in files.items()}, saved)
        shutil.rmtree(saved, ignore_errors=True)
        raise FixError(
            f"{error.filename or 'the file'}: cannot write the fix ({error.strerror}).\n"
            "No file was changed. Make the file writable, or take the patch: quickfit fix --diff"
        ) from error
    return saved


def _put_back(originals: Mapping[str, bytes], saved: Path) -> None:
    """Undo what was written of a fix that could not be written in full."""
    try:
        changed = {p: data for p, data in originals.items() if Path(p).read_bytes() != data}
        _replace_all(changed)
    except OSError as error:
        raise FixError(
            f"{error.filename or 'a file'}: cannot write the fix, nor put the file back"
            f" ({error.strerror}).\nThe originals are in {saved}. When there is room again:\n"
            "    quickfit fix --undo"
        ) from error


def undo(*, home: Path) -> tuple[str, list[str]]:
    """Put back the originals of the newest fix; return what it was, and the files.

    Raises:
        FixError: there is none, or a file has changed since it was fixed.
    """
    folder = _newest(home)
    facts = _manifest(folder)
    originals = {}
    for entry in facts["files"]:
        original = _original(folder / entry["saved"], entry["before"])
        if not _is_at(entry["path"], entry["before"]):  # of a fix that was cut short, some are
            _check_unchanged(entry["path"], entry["after"], undoing=True)
            originals[entry["path"]] = original
    try:
        _replace_all(originals)
    except OSError as error:
        raise FixError(
            f"{error.filename or folder}: cannot put the original back ({error.strerror}).\n"
            f"It is kept in {folder}."
        ) from error
    shutil.rmtree(folder)
    return str(facts["title"]), [str(entry["path"]) for entry in facts["files"]]


def _original(path: Path, sha256: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FixError(f"{path}: the saved original cannot be read ({error.strerror}).") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise FixError(f"{path}: the saved original is damaged; nothing was put back.")
    return data


def _is_at(path: str, sha256: str) -> bool:
    """Tell whether a file has these contents."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() == sha256
    except OSError:
        return False


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
    folder = home / _FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 10**9:09d}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise FixError(
            f"{folder}: cannot save the original files ({error.strerror}), so nothing was changed."
        ) from error
    try:
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


def _replace_all(files: Mapping[str, bytes]) -> None:
    """Put data in the place of files, which keep their modes; a link stays one.

    All is written aside before the first file changes: a full disk changes none.
    """
    asides: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            real = Path(os.path.realpath(path))
            if not os.access(real, os.W_OK):
                raise PermissionError(13, "Permission denied", str(real))
            asides[real] = real.with_name(f".{real.name}.quickfit-{os.getpid()}")
            _write_aside(asides[real], data)
            shutil.copymode(real, asides[real])
        for real, aside in asides.items():
            os.replace(aside, real)
    finally:
        for aside in asides.values():
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

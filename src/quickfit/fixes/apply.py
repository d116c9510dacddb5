"""Writes fixed files, after saving the originals, and puts the originals back.

Everything is written aside first and renamed into place: a kill at any moment leaves each file
as it was or as it becomes, and the originals are saved before the first one changes. Owner, group,
mode and extended attributes stay. Only files inside the project folder are ever written, and what
`undo` puts back is named by a record that this user has sealed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shlex
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from quickfit import trust
from quickfit.errors import FixError
from quickfit.fixes.files import SourceFile

MANIFEST = "fix.json"
_FOLDER = Path(".quickfit") / "fixes"
_PURPOSE = "undo a fix"

# Each file that changes, as it is and with its bytes as they become.
Files = Mapping[str, tuple[SourceFile, bytes]]


def write(files: Files, *, home: Path, title: str) -> Path:
    """Write files, all or none; return the folder that holds the originals.

    Args:
        files: each file as it was when the fix was made, and its new bytes.
        home: the folder below which `.quickfit` lies.
        title: what was done, for `--undo` to say.

    Raises:
        FixError: a file has changed since, lies outside of the folder, or cannot be written.
    """
    for path, (before, _) in files.items():
        check_may_change(path, home)
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


def project_of(named: Iterable[str]) -> Path:
    """Return the project folder of files that a user has named: where quickfit runs, if it can be.

    Files elsewhere are their own project: what was written is undone in the folder they share.
    """
    here, folders = Path.cwd(), [os.path.dirname(os.path.abspath(path)) for path in named]
    if all(Path(folder).is_relative_to(here) for folder in folders):
        return here
    return Path(os.path.commonpath(folders))


def check_inside(path: str, home: Path) -> None:
    """Refuse a file that does not belong to the project.

    Raises:
        FixError: it lies outside of the project folder, or a link leads out of it.
    """
    if not trust.is_inside(path, home):
        try:
            real = os.path.realpath(path)
        except ValueError:  # no file can have this name
            real = path
        raise FixError(
            f"{path}: lies outside of the project folder, so it is left alone.\n"
            f"Received: {real}, and the project folder is {home}.\n"
            "Run quickfit in a folder that holds the script and every file to be changed."
        )


def check_may_change(path: str, home: Path) -> None:
    """Refuse a file that must not be replaced.

    Raises:
        FixError: it lies outside of the project folder, or has several names.
    """
    check_inside(path, home)
    names = os.stat(path).st_nlink if os.path.isfile(path) else 1
    if names > 1:
        own = f"{path}.own"
        raise FixError(
            f"{path}: this file has {names} names (hard links), and a fix would change one of them"
            " alone. Nothing was changed.\n"
            "Give it a copy of its own first:\n"
            f"    {shlex.join(['cp', '-p', path, own])} && {shlex.join(['mv', own, path])}"
        )


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


def undo(
    *, home: Path, show: Callable[[Files], None] = lambda files: None
) -> tuple[str, list[str]]:
    """Put back the originals of the newest fix; return what it was, and the files.

    Args:
        home: the folder below which `.quickfit` lies.
        show: is called with what changes before anything does.

    Raises:
        FixError: there is none, it is not this user's, or a file has changed since it was fixed.
    """
    folder = _newest(home)
    facts = read_manifest(folder, home)
    originals = {}
    for entry in facts["files"]:
        check_may_change(entry["path"], home)
        original = _original(folder / entry["saved"], entry["before"])
        if not _is_at(entry["path"], entry["before"]):  # of a fix that was cut short, some are
            _check_unchanged(entry["path"], entry["after"], undoing=True)
            originals[entry["path"]] = original
    show({p: (SourceFile(p, Path(p).read_bytes(), "utf-8"), o) for p, o in originals.items()})
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
        data = trust.read_regular(path)
    except OSError as error:
        raise FixError(f"{path}: the saved original cannot be read ({error.strerror}).") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise FixError(f"{path}: the saved original is damaged; nothing was put back.")
    return data


def _is_at(path: str, sha256: str) -> bool:
    """Tell whether a file has these contents."""
    try:
        return hashlib.sha256(trust.read_regular(path)).hexdigest() == sha256
    except OSError:
        return False


def _check_unchanged(path: str, sha256: str, *, undoing: bool = False) -> None:
    try:
        now = hashlib.sha256(trust.read_regular(path)).hexdigest()
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


def _save(files: Files, home: Path, title: str) -> Path:
    folder = home / _FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 10**9:09d}"
    try:
        trust.make_private_folder(folder, exist_ok=False)
        entries = [_save_one(folder, number, *item) for number, item in enumerate(files.items())]
        facts = {"title": title, "at": time.time(), "files": entries}
        record = trust.sealed(facts, purpose=_PURPOSE, folder=home)
        trust.write_private(folder / MANIFEST, json.dumps(record, indent=1).encode())
    except (OSError, trust.NotTrusted) as error:
        shutil.rmtree(folder, ignore_errors=True)
        why = getattr(error, "strerror", None) or error
        raise FixError(
            f"{folder}: cannot save the original files ({why}), so nothing was changed."
        ) from error
    return folder


def check_key() -> None:
    """Make sure, before minutes of proofs, that what is written can be undone.

    Raises:
        FixError: there is no key to seal the record of it with.
    """
    try:
        trust.read_or_make_key()
    except (OSError, trust.NotTrusted) as error:
        raise FixError(
            f"{trust.state_folder()}: the key that records of fixes are sealed with cannot be"
            f" used.\nReceived: {getattr(error, 'strerror', None) or error}\n"
            "Correct that, or name another folder for it:\n"
            "    XDG_STATE_HOME=FOLDER quickfit fix --apply …"
        ) from error


def _save_one(
    folder: Path, number: int, path: str, change: tuple[SourceFile, bytes]
) -> dict[str, str]:
    before, after = change
    name = f"{number}-{Path(path).name}"
    trust.write_private(folder / name, before.data)
    return {
        "path": path,
        "saved": name,
        "before": before.sha256,
        "after": hashlib.sha256(after).hexdigest(),
    }


def _replace_all(files: Mapping[str, bytes]) -> None:
    """Put data in the place of files, which stay whose and what they are; a link stays one.

    All is written aside before the first file changes: a full disk changes none.
    """
    asides: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            real = Path(os.path.realpath(path))
            if not os.access(real, os.W_OK):
                raise PermissionError(13, "Permission denied", str(real))
            asides[real] = real.with_name(f".{real.name}.quickfit-{secrets.token_hex(4)}")
            _write_aside(asides[real], data)
            _keep_identity(real, asides[real])
        for real, aside in asides.items():
            os.replace(aside, real)
    finally:
        for aside in asides.values():
            aside.unlink(missing_ok=True)


def _write_aside(path: Path, data: bytes) -> None:
    with os.fdopen(trust.create_private(path), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _keep_identity(real: Path, aside: Path) -> None:
    """Give a file the owner, group, mode and extended attributes of the one it replaces."""
    was, now = real.stat(), aside.stat()
    if hasattr(os, "chown") and (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
        try:
            os.chown(aside, was.st_uid, was.st_gid)
        except OSError as error:
            owner = f"user {was.st_uid}, group {was.st_gid}"
            why = f"it belongs to {owner}, which a new file of yours cannot"
            raise OSError(error.errno, why, str(real)) from error
    shutil.copystat(real, aside)
    os.utime(aside)  # new text with the old time would be mistaken for the compiled old one


def _newest(home: Path) -> Path:
    found = sorted((home / _FOLDER).glob(f"*/{MANIFEST}"), key=lambda f: f.stat().st_mtime_ns)
    if not found:
        raise FixError(
            f"{home / _FOLDER}: there is no fix to undo here.\n"
            "Run it in the folder where `quickfit fix --apply` was run."
        )
    return found[-1].parent


def read_manifest(folder: Path, home: Path) -> dict[str, Any]:
    """Return what a fix has changed: a title, and path, saved name and digests of each file.

    Raises:
        FixError: the record of it is damaged, or is not this user's own.
    """
    path = folder / MANIFEST
    try:
        record = json.loads(trust.read_private(path))
        facts = trust.check_seal(record, purpose=_PURPOSE, folder=home)
        entries = [(e["path"], e["saved"], e["before"], e["after"]) for e in facts["files"]]
        is_text = all(isinstance(value, str) for entry in entries for value in entry)
        if is_text and all(Path(saved).name == saved for _, saved, _, _ in entries):
            return {"title": str(facts.get("title", "")), "files": facts["files"]}
    except trust.NotTrusted as error:
        raise FixError(
            f"{path}: this record of a fix is not trusted, so nothing was put back.\n"
            f"Received: {error}.\n"
            "If the fix is your own, the originals are beside it; compare and copy by hand."
        ) from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise FixError(f"{path}: is damaged; the saved originals are beside it.")

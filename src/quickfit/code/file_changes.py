"""The user's files on disk: read with their encoding, shown as a patch, written and put back."""

from __future__ import annotations

import codecs
import difflib
import hashlib
import io
import json
import os
import secrets
import shlex
import shutil
import time
import tokenize
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from quickfit import terminal, trust
from quickfit.code.edits import apply_edits, is_inside
from quickfit.code.syntax import parse_or_none
from quickfit.errors import FixError
from quickfit.findings import Edit


@dataclass(frozen=True)
class SourceFile:
    """A Python file as it is on disk.

    Args:
        path: as the recording names it.
        data: its bytes.
        encoding: as Python would read it.
    """

    path: str
    data: bytes
    encoding: str

    @property
    def text(self) -> str:
        """Its text, with the line ends it has."""
        return self.data.decode(self.encoding)

    @property
    def sha256(self) -> str:
        """The digest that a recording keeps of it."""
        return hashlib.sha256(self.data).hexdigest()

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """Return its bytes with edits made.

        Raises:
            FixError: the result would not be Python, or cannot be written in its encoding.
        """
        own = [edit for edit in edits if edit.file == self.path]
        if not all(is_inside(edit, self.text) for edit in own):
            raise FixError(f"{self.path}: the fix names a place that this file does not have.")
        text = apply_edits(self.text, own)
        if parse_or_none(text.replace("\r\n", "\n")) is None:
            raise FixError(
                f"{self.path}: the edited file would not be valid Python, so nothing was changed.\n"
                "This is a bug in quickfit; please report it with the lines of the fix."
            )
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise FixError(
                f"{self.path}: the fix cannot be written in the file's encoding"
                f" ({self.encoding}: {error.reason}).\nSave the file as UTF-8 and try again."
            ) from error


def read_source(path: str) -> SourceFile:
    """Read a Python file.

    Raises:
        FixError: it cannot be read, or is not text in the encoding it names.
    """
    try:
        data = trust.read_regular(path)
    except (OSError, ValueError) as error:  # gone, or a name that no file can have
        raise FixError(
            f"{path}: cannot read this file ({getattr(error, 'strerror', error)}).\n"
            "Fixes are made in the files that the script was run from."
        ) from error
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise FixError(f"{path}: cannot be read as Python text ({error}).") from error
    if encoding == "utf-8-sig" and not data.startswith(codecs.BOM_UTF8):
        encoding = "utf-8"
    return SourceFile(path, data, encoding)


# Changes of one file that a person reads; what is more is counted.
MAX_LINES = 200
_NO_END = "\\ No newline at end of file\n"


def patch(files: Mapping[str, tuple[SourceFile, bytes]], *, base: Path) -> bytes:
    """Return a patch of all files.

    Args:
        files: each file as it is, and its bytes as they become, by its path.
        base: the folder in which `git apply` is to be run.
    """
    top = _top(Path(os.path.realpath(base)))
    return b"".join(
        _of_file(_name(path, top), before, after)
        for path, (before, after) in sorted(files.items())
        if before.data != after
    )


def show_patch(
    files: Mapping[str, tuple[SourceFile, bytes]], *, base: Path, stream: TextIO
) -> None:
    """Show a person what is about to be written, file by file; of a long one its beginning."""
    for path, change in sorted(files.items()):
        text = patch({path: change}, base=base).decode(errors="replace").replace("\r\n", "\n")
        lines = text.splitlines(keepends=True)
        terminal.write(stream, "".join(lines[:MAX_LINES]))
        if len(lines) > MAX_LINES:
            terminal.write(stream, f"… and {len(lines) - MAX_LINES:,} more lines in this file\n")


def _top(base: Path) -> Path:
    """Return the folder from which git sees the paths of a patch, wherever it is run below."""
    return next((f for f in (base, *base.parents) if (f / ".git").exists()), base)


def _name(path: str, top: Path) -> str:
    return Path(os.path.relpath(os.path.realpath(path), top)).as_posix()


def _of_file(name: str, before: SourceFile, after: bytes) -> bytes:
    names = _quoted(f"a/{name}"), _quoted(f"b/{name}")
    lines = list(difflib.unified_diff(_rows(before.data), _rows(after), *names, lineterm="\n"))
    head = f"diff --git {' '.join(names)}\n"
    head += "".join(line.rstrip("\t\n") + "\n" for line in lines[:2])
    body = [line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in lines[2:]]
    return head.encode() + "".join(body).encode("latin-1")


def _rows(data: bytes) -> list[str]:
    """Return the lines as git sees them, byte by byte: whatever the encoding, ended by `\\n`."""
    rows = [f"{row}\n" for row in data.decode("latin-1").split("\n")]
    rows[-1] = rows[-1].removesuffix("\n")
    return [row for row in rows if row]


def _quoted(name: str) -> str:
    """Return a name as git writes it where it holds more than plain characters."""
    if all(" " <= c <= "~" and c not in '"\\' for c in name):
        return name
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in os.fsencode(name)
    )
    return f'"{escaped}"'


MANIFEST = "fix.json"
_FOLDER = Path(".quickfit") / "fixes"
_PURPOSE = "undo a fix"

# Each file that changes, as it is and with its bytes as they become.
ChangedFiles = Mapping[str, tuple[SourceFile, bytes]]


def write(files: ChangedFiles, *, home: Path, title: str) -> Path:
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
    *, home: Path, show: Callable[[ChangedFiles], None] = lambda files: None
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


def _save(files: ChangedFiles, home: Path, title: str) -> Path:
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

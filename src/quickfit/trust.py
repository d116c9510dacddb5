"""What this user wrote on this machine, told from what came with a cloned folder.

Two things make a file of ours trusted. It is private: it belongs to the user, and no other user may
read or change it. And it is sealed: it carries a digest that only a holder of the user's own key
can make, over its content, its purpose and the folder it was made for. The key lies in the user's
state folder (`$XDG_STATE_HOME/quickfit/key`), never in a project.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

FOLDER_MODE, FILE_MODE = 0o700, 0o600
# Our own records are a few kilobytes; what is larger is not ours.
MAX_RECORD_BYTES = 16_000_000
SEAL = "seal"
_KEY_BYTES = 32
# A pipe without a writer is opened without waiting.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


class NotTrusted(Exception):  # noqa: N818 - an answer to a question, which its asker words
    """A record is not this user's own; its text says why."""


# -- private files ------------------------------------------------------------------------------


def make_private_folder(folder: Path, *, exist_ok: bool = True) -> None:
    """Make a folder that only the user may enter, and those above it as far as they are ours.

    A `.quickfit` on the way, and what is below it, is taken from others if it was open to them.
    Where it is a link nothing is made: a cloned folder may bring one, and it leads elsewhere.

    Raises:
        OSError: it cannot be made, or is there and must not be.
    """
    ours = [folder, *(f for f in folder.parents if ".quickfit" in f.parts)]
    for one in ours:
        if ".quickfit" in one.parts and one.is_symlink():
            raise OSError(errno.ELOOP, f"{one.name} is a link to another place", str(one))
    if not folder.parent.exists():
        if folder.parent in ours:
            make_private_folder(folder.parent)
        else:
            folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=FOLDER_MODE, exist_ok=exist_ok)
    for one in ours:
        _close_to_others(one, FOLDER_MODE)
    for parent in folder.parents:
        if parent.name == ".quickfit":
            ignore = parent / ".gitignore"
            if not ignore.exists():
                write_private(ignore, b"*\n")
            return


def _close_to_others(path: Path, mode: int) -> None:
    # Its owner may still be another user: then it is read with suspicion, not changed.
    with contextlib.suppress(OSError):
        facts = path.stat(follow_symlinks=False)
        is_ours = not stat.S_ISLNK(facts.st_mode) and facts.st_uid == _user()
        if is_ours and stat.S_IMODE(facts.st_mode) != mode:
            path.chmod(mode)


def create_private(path: Path) -> int:
    """Make a new file that only the user may read, whatever the umask; return its descriptor.

    Raises:
        FileExistsError: there is one.
    """
    number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
    if hasattr(os, "fchmod"):
        with contextlib.suppress(OSError):  # a file system without modes
            os.fchmod(number, FILE_MODE)
    return number


def write_private(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Put a file in place that only the user may read: whole, or not at all.

    Args:
        path: the file.
        data: its bytes.
        sync: wait until the disk has them, so that a power cut cannot lose them.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.new")
    try:
        with os.fdopen(create_private(aside), "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def read_private(path: Path) -> bytes:
    """Return the bytes of a file that only this user can have written.

    Raises:
        NotTrusted: it belongs to another user, or others may read or change it.
        OSError: it cannot be read.
    """
    _check_private(path.parent, path.parent.lstat(), stat.S_ISDIR, "folder")
    # What is opened is what is checked: no link, no pipe, no other file a moment later.
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | _AT_ONCE)
    with os.fdopen(number, "rb") as file:
        _check_private(path, os.fstat(number), stat.S_ISREG, "file")
        data = file.read(MAX_RECORD_BYTES + 1)
    if len(data) > MAX_RECORD_BYTES:
        raise NotTrusted(f"it is larger than {MAX_RECORD_BYTES:,} bytes")
    return data


def read_regular(
    path: str | Path, most: int = -1, *, follow: bool = True, tail: bool = False
) -> bytes:
    """Return the bytes of an ordinary file: a pipe would keep us waiting, a device has no end.

    Args:
        path: the file, or a link to it.
        most: how many bytes; all by default.
        follow: a link is followed. Not where a script that is tried may have made it.
        tail: the last bytes, and not the first.

    Raises:
        OSError: it cannot be read, or is something else.
    """
    with os.fdopen(open_regular(path, follow=follow), "rb") as file:
        if tail and most >= 0:
            file.seek(max(os.fstat(file.fileno()).st_size - most, 0))
        return file.read(most)


def open_regular(path: str | Path, *, folder: int | None = None, follow: bool = False) -> int:
    """Open an ordinary file for reading; return its descriptor.

    Args:
        path: the file.
        folder: the descriptor of the folder that a relative path begins at.
        follow: a link is followed.

    Raises:
        OSError: it cannot be opened, or is something else.
    """
    flags = os.O_RDONLY | _AT_ONCE | getattr(os, "O_CLOEXEC", 0)
    flags |= 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    try:
        number = os.open(path, flags, dir_fd=folder)
    except ValueError as error:  # with a null character, or half a surrogate pair
        raise OSError(errno.EINVAL, "no file can have this name", str(path)) from error
    try:
        check_regular(path, os.fstat(number))
    except BaseException:
        os.close(number)
        raise
    return number


def check_regular(path: str | Path, facts: os.stat_result | None = None) -> None:
    """Refuse what is not an ordinary file.

    Raises:
        OSError: there is none, or it is a folder, a pipe or a device.
    """
    mode = (os.stat(path) if facts is None else facts).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not an ordinary file, but a pipe or a device", str(path))


def _check_private(path: Path, facts: os.stat_result, is_kind: Any, kind: str) -> None:
    if not is_kind(facts.st_mode):
        raise NotTrusted(f"{path.name} is not an ordinary {kind}")
    if not hasattr(os, "geteuid"):
        return  # Windows: its files have no such owner and mode; the seal is what counts
    if facts.st_uid != _user():
        raise NotTrusted(f"the {kind} {path.name} belongs to user {facts.st_uid}, not to you")
    mode = stat.S_IMODE(facts.st_mode)
    if mode & 0o077:
        raise NotTrusted(f"others may use the {kind} {path.name} (mode {mode:04o})")


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


# -- sealed records -----------------------------------------------------------------------------


def state_folder() -> Path:
    """Return the folder in which this user's programs keep what is not for others."""
    given = os.environ.get("XDG_STATE_HOME", "")
    home = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "state"
    return home / "quickfit"


def read_or_make_key() -> bytes:
    """Return the key of this user, made when it is first needed.

    Raises:
        NotTrusted: others may read or change it.
        OSError: it cannot be made or read.
    """
    path = state_folder() / "key"
    try:
        key = read_private(path)
    except FileNotFoundError:
        try:
            path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            _close_to_others(path.parent, FOLDER_MODE)
            aside = path.with_name(f"key.{os.getpid()}-{os.urandom(4).hex()}")
            write_private(aside, os.urandom(_KEY_BYTES))
            with contextlib.suppress(FileExistsError):  # another quickfit was first
                os.link(aside, path)
            aside.unlink()
        except RuntimeError as error:  # no home folder
            raise OSError(str(error)) from error
        key = read_private(path)
    if len(key) != _KEY_BYTES:
        raise NotTrusted(f"{path} does not hold a key of {_KEY_BYTES} bytes; remove it")
    return key


def sealed(facts: dict[str, Any], *, purpose: str, folder: Path) -> dict[str, Any]:
    """Return a record with the seal of this user.

    Args:
        facts: plain JSON values.
        purpose: what it may be used for.
        folder: where it may be used.

    Raises:
        NotTrusted, OSError: there is no key to seal it with.
    """
    plain = {name: value for name, value in facts.items() if name != SEAL}
    return {**plain, SEAL: _seal(plain, purpose, folder)}


def check_seal(record: object, *, purpose: str, folder: Path) -> dict[str, Any]:
    """Return the facts of a record that this user has sealed, for this purpose and folder.

    Raises:
        NotTrusted: it was made or changed by another user, or for something else.
    """
    if not isinstance(record, dict) or not isinstance(record.get(SEAL), str):
        raise NotTrusted("it has no seal of yours")
    plain = {name: value for name, value in record.items() if name != SEAL}
    try:
        expected = _seal(plain, purpose, folder)
    except OSError as error:
        raise NotTrusted(f"your key cannot be read ({error})") from error
    import hmac  # this module is loaded into every watched script, which seldom needs it

    if not hmac.compare_digest(expected, record[SEAL].encode("ascii", "replace").decode()):
        raise NotTrusted(
            "its seal is not yours: it was made by another user, on another machine, for another"
            " folder, or was changed since"
        )
    return plain


def _seal(facts: dict[str, Any], purpose: str, folder: Path) -> str:
    import hmac

    about = {"purpose": purpose, "folder": os.path.realpath(folder), "user": _user()}
    text = json.dumps([about, facts], sort_keys=True, separators=(",", ":"))
    return hmac.new(read_or_make_key(), text.encode(), hashlib.sha256).hexdigest()


# -- the project --------------------------------------------------------------------------------


def is_inside(path: str | Path, folder: Path) -> bool:
    """Tell whether a path lies in a folder, with all links followed."""
    try:
        real, top = os.path.realpath(path), os.path.realpath(folder)
    except ValueError:  # no file can have this name
        return False
    return real != top and os.path.commonpath([real, top]) == top

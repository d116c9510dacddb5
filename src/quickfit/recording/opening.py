"""Opens the file of one process for reading, or says what it is instead of a recording."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from contextlib import closing, suppress
from pathlib import Path

from quickfit import trust, units
from quickfit.errors import RecordingError
from quickfit.recording.schema import APPLICATION_ID, FORMAT_VERSION, is_ordinary_table
from quickfit.recording.taking import copy_bytes

RECORD_AGAIN = "Record the run again:\n    quickfit run YOUR_SCRIPT.py"
WHAT_IT_IS = "A recording is a folder whose name ends in .qfrun; `quickfit run` prints its place."
# A million steps are 7 MB, days of training a few dozen. What is larger is not read.
MAX_FILE_BYTES = 500_000_000
# The longest text is a user's file, at most a megabyte of which is kept.
MAX_VALUE_BYTES = 8_000_000
# Some 30 instructions read a row. A damaged or crafted tree of pages may never end.
MAX_INSTRUCTIONS = 2_000_000_000
_CHECK_EVERY = 10_000_000
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_VALUE_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 20,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 5,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_SQLITE_MAGIC = b"SQLite format 3\x00"
_WAL = "-wal"
# Where the first page has the application's id, and where the first frame of a WAL begins.
_ID_AT, _FRAME_AT = 68, 32
_KNOWN_MAGIC = {
    b"\x1f\x8b": "gzip data",
    b"PK\x03\x04": "a zip archive",
    b"\x89HDF": "an HDF5 file",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF": "a PDF",
}


class EmptyRecordingError(RecordingError):
    """The process ended before its first transaction: there is nothing to read, and no damage."""


def open_file(path: Path) -> sqlite3.Connection:
    """Return a connection that reads the file of one process.

    What a hostile file could make of it is bounded: its size, the length of a value, the work of a
    question, and its schema, which is checked before any row is read.

    Raises:
        RecordingError: the file is foreign, empty, too large or newer than this quickfit.
        sqlite3.Error: the file is damaged.
    """
    _check_kind(path)
    _check_magic(path)
    _check_size(path)
    return _checked(_connect(path) if _is_ours(path) else _copied(path), path)


def open_growing(path: Path, *, busy_s: float) -> sqlite3.Connection:
    """Return a connection that asks a file that is being written, within the same bounds.

    Args:
        path: the file of one process.
        busy_s: how long to wait for a writer.

    Raises:
        OSError, RecordingError, sqlite3.Error: as `open_file`; there may be nothing to ask yet.
    """
    _check_kind(path)
    _check_magic(path)
    _check_size(path)
    if not _is_ours(path):
        return _checked(_copied(path), path)
    address = f"{path.absolute().as_uri()}?mode=ro"
    return _checked(_limited(sqlite3.connect(address, uri=True, timeout=busy_s)), path)


def _checked(db: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        # A file may bring its own definitions; none of them gets to call anything.
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA cell_size_check=ON")
        _check_identity(db, path)
        _check_schema(db, path)
    except BaseException:
        db.close()
        raise
    return db


def damaged(path: Path, what: str) -> RecordingError:
    """Return the error of a file that is ours but cannot be trusted."""
    return RecordingError(
        f"{path}: the recording of process {path.stem} is damaged ({what:.200}).\n{RECORD_AGAIN}"
    )


def too_large(path: Path, what: str, most: int) -> RecordingError:
    """Return the error of a file that holds more than a run can have recorded."""
    return RecordingError(
        f"{path}: this recording is too large to be one of quickfit's, and is not read.\n"
        f"Received: {what}; at most {units.size(most)} are read. A million steps take 7 MB.\n"
        f"If it is yours, record the run again:\n    quickfit run YOUR_SCRIPT.py"
    )


def kind_of(path: Path) -> str:
    """Return in words what a file seems to be."""
    try:
        head = _head(path)
    except OSError as error:
        return error.strerror or "unreadable"
    if not head:
        return "an empty file"
    if head == _SQLITE_MAGIC:
        return "an SQLite file"
    for magic, name in _KNOWN_MAGIC.items():
        if head.startswith(magic):
            return name
    return "text" if all(9 <= byte < 127 for byte in head) else "unknown data"


def _connect(path: Path) -> sqlite3.Connection:
    """Open read-only; where the folder does not allow even that, read a copy."""
    try:
        return _tried(_limited(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)))
    except sqlite3.OperationalError:
        # Without the right to write, SQLite cannot share a WAL: it needs a file beside it.
        return _copied(path)


def _limited(db: sqlite3.Connection) -> sqlite3.Connection:
    for category, most in _LIMITS.items():
        db.setlimit(category, most)
    rounds = iter(range(MAX_INSTRUCTIONS // _CHECK_EVERY))
    # A true value interrupts the question that is being answered.
    db.set_progress_handler(lambda: next(rounds, None) is None, _CHECK_EVERY)
    return db


def _tried(db: sqlite3.Connection) -> sqlite3.Connection:
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def _copied(path: Path) -> sqlite3.Connection:
    with tempfile.TemporaryDirectory(prefix="quickfit-", ignore_cleanup_errors=True) as place:
        copy = Path(place) / path.name
        for suffix in ("", _WAL):
            with suppress(FileNotFoundError):
                _copy(path.with_name(path.name + suffix), copy.with_name(copy.name + suffix))
        memory = _limited(sqlite3.connect(":memory:"))
        try:
            with closing(_limited(sqlite3.connect(copy))) as db:
                db.backup(memory)
        except BaseException:
            memory.close()
            raise
        return memory


def _copy(source: Path, target: Path) -> None:
    number = trust.open_regular(source)
    try:
        copy_bytes(number, target, MAX_FILE_BYTES)
    finally:
        os.close(number)


def _head(path: Path) -> bytes:
    return trust.read_regular(path, len(_SQLITE_MAGIC))


def _check_kind(path: Path) -> None:
    """Refuse a file that is a link, a pipe or a device, or has one beside it.

    The folder may be named by a link: who reads a recording chooses that, and not who made it.
    """
    for suffix in ("", _WAL, "-shm"):
        one = path.with_name(path.name + suffix)
        with suppress(FileNotFoundError):
            mode = one.lstat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a folder cannot be opened
                raise damaged(path, f"{one.name} is not an ordinary file")


def _is_ours(path: Path) -> bool:
    """Tell whether quickfit wrote a file, before SQLite is let near it.

    SQLite makes files beside a database that it only reads. Beside one of the user it must not.
    """
    ours = APPLICATION_ID.to_bytes(4, "big")
    if trust.read_regular(path, _ID_AT + 4, follow=False)[_ID_AT:] == ours:
        return True
    # Our first transaction may still be in the WAL, and begins with the first page.
    try:
        head = trust.read_regular(path.with_name(path.name + _WAL), _FRAME_AT + 124, follow=False)
    except OSError:
        return False
    page = head[_FRAME_AT + 24 :]
    return head[_FRAME_AT : _FRAME_AT + 4] == b"\0\0\0\x01" and page[_ID_AT : _ID_AT + 4] == ours


def _check_magic(path: Path) -> None:
    head = _head(path)
    if head == _SQLITE_MAGIC:
        return
    if head == b"":
        raise _empty(path)
    if _SQLITE_MAGIC.startswith(head):
        raise damaged(path, f"the file ends after {len(head)} bytes")
    raise RecordingError(
        f"{path}: the recording of process {path.stem} is not a quickfit file"
        f" (found: {kind_of(path)}).\n{RECORD_AGAIN}"
    )


def _check_size(path: Path) -> None:
    names = (path, path.with_name(path.name + _WAL))
    size = sum(os.stat(name).st_size for name in names if name.exists())
    if size > MAX_FILE_BYTES:
        raise too_large(path, f"a file of {units.size(size)}", MAX_FILE_BYTES)


def _check_schema(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a file with anything in it but ordinary tables and the indexes of their keys."""
    for kind, name, table, sql in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
        is_key = kind == "index" and sql is None and name == f"sqlite_autoindex_{table}_1"
        is_table = kind == "table" and isinstance(sql, str) and is_ordinary_table(name, sql)
        if not is_key and not is_table:
            raise damaged(path, f"it has a {kind!s:.20} {name!r:.60} that quickfit did not write")


def _check_identity(db: sqlite3.Connection, path: Path) -> None:
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application != APPLICATION_ID and not tables:
        raise _empty(path)  # SQLite writes its header before our first transaction
    if application != APPLICATION_ID:
        raise RecordingError(
            f"{path}: this is an SQLite file, but not one that quickfit wrote.\n{WHAT_IT_IS}"
        )
    if version > FORMAT_VERSION:
        raise RecordingError(
            f"{path}: written by a newer quickfit (format {version}; this one reads up to"
            f" {FORMAT_VERSION}).\nTo read it:\n    pip install --upgrade quickfit"
        )
    if version < 1:
        raise damaged(path, f"its format is {version}, and the first one is 1")


def _empty(path: Path) -> EmptyRecordingError:
    return EmptyRecordingError(
        f"{path}: the recording of process {path.stem} is empty; the process ended before it"
        f" wrote anything.\n{RECORD_AGAIN}"
    )

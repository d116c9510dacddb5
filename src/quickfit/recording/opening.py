"""Opens the file of one process for reading, or says what it is instead of a recording."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from quickfit.errors import RecordingError
from quickfit.recording.schema import APPLICATION_ID, FORMAT_VERSION

RECORD_AGAIN = "Record the run again:\n    quickfit run YOUR_SCRIPT.py"
WHAT_IT_IS = "A recording is a folder whose name ends in .qfrun; `quickfit run` prints its place."
_SQLITE_MAGIC = b"SQLite format 3\x00"
_KNOWN_MAGIC = {
    b"\x1f\x8b": "gzip data",
    b"PK\x03\x04": "a zip archive",
    b"\x89HDF": "an HDF5 file",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF": "a PDF",
}


def open_file(path: Path) -> sqlite3.Connection:
    """Return a connection that reads the file of one process.

    Raises:
        RecordingError: the file is foreign, empty or newer than this quickfit.
        sqlite3.Error: the file is damaged.
    """
    _check_magic(path)
    db = _connect(path)
    try:
        # A file may bring its own definitions; none of them gets to call anything.
        db.execute("PRAGMA trusted_schema=OFF")
        _check_identity(db, path)
    except BaseException:
        db.close()
        raise
    return db


def damaged(path: Path, what: str) -> RecordingError:
    """Return the error of a file that is ours but cannot be trusted."""
    return RecordingError(
        f"{path}: the recording of process {path.stem} is damaged ({what}).\n{RECORD_AGAIN}"
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
        return _tried(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True))
    except sqlite3.OperationalError:
        # Without the right to write, SQLite cannot share a WAL: it needs a file beside it.
        return _copied(path)


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
        for suffix in ("", "-wal"):
            source = path.with_name(path.name + suffix)
            if source.exists():
                shutil.copyfile(source, copy.with_name(copy.name + suffix))
        memory = sqlite3.connect(":memory:")
        try:
            with closing(sqlite3.connect(copy)) as db:
                db.backup(memory)
        except BaseException:
            memory.close()
            raise
        return memory


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(_SQLITE_MAGIC))


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


def _empty(path: Path) -> RecordingError:
    return RecordingError(
        f"{path}: the recording of process {path.stem} is empty; the process ended before it"
        f" wrote anything.\n{RECORD_AGAIN}"
    )

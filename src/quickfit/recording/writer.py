"""Writes the file of one process: a buffer that training fills, a thread that empties it.

The training threads only append tuples to a deque. One background thread, owned by the
session, calls `flush` about twice a second. A process that is killed loses at most what was
appended since the last flush: SQLite's WAL survives the death of its writer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sqlite3
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from quickfit import trust
from quickfit.recording import thinning
from quickfit.recording.schema import (
    APPLICATION_ID,
    FORMAT_VERSION,
    PROCESS_SUFFIX,
    TABLES,
    columns,
    create_sql,
    description,
)
from quickfit.standard import standard

# A user file larger than this is not stored: nobody reads a report of it line by line.
MAX_SOURCE_BYTES = 1_000_000
_LOST = "the script closed quickfit's files"
_LOOK_EVERY_S = 0.1
# Of a larger file not even the digest is right.
_MAX_READ_BYTES = 50 * MAX_SOURCE_BYTES
Row = tuple[Any, ...]  # what SQLite takes: text, numbers, None
# What SQLite says to one row that does not fit; a full disk is an OperationalError.
_REFUSED = (
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    OverflowError,
)
# Rows of one statement, the most first; each number has a statement that SQLite keeps. It takes
# 999 values in every version.
_ROWS_AT_ONCE = (64, 16, 4, 1)
_MAX_VALUES = 999


class Writer:
    """The recording of this process.

    Nothing touches the disk before the first `flush`, so that a process that ends at once,
    or is forked and executes something else, leaves no file.

    Args:
        folder: the run's folder.
        facts: what `meta` says of this process.
        opening: entered while files are opened that stay open.
        read: returns what a file says, or None.
    """

    def __init__(
        self,
        folder: Path,
        facts: dict[str, Any],
        *,
        opening: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
        read: Callable[[str, int], bytes | None] | None = None,
    ) -> None:
        self.folder = folder
        self.facts = facts
        self._opening = opening
        self._read = read or _read
        self.path: Path | None = None
        self._db: sqlite3.Connection | None = None
        self._files: dict[int, tuple[int, int]] = {}  # what SQLite has open, by number
        self._is_lost = False
        self._rows: deque[tuple[str, Row]] = deque()
        self._step_rows: deque[Row] = deque()
        self._sources: set[str] = set()
        self._has_tables = False
        self._refused: set[str] = set()
        self._counts: dict[str, int] = {}
        self._limits = dict(thinning.BOUNDS)
        self._flushing = threading.Lock()

    def add(self, table: str, row: Row) -> None:
        """Buffer one row."""
        self._rows.append((table, row))

    @property
    def add_step(self) -> Any:  # the bound `append` of a deque: the cheapest call there is
        """A function that buffers one row of `steps`."""
        return self._step_rows.append

    @property
    def pending_steps(self) -> int:
        """How many steps wait to be written."""
        return len(self._step_rows)

    def add_source(self, file: str) -> None:
        """Store the text of a user file once, so that a report is right after it changed."""
        if file in self._sources:
            return
        self._sources.add(file)
        # None: gone, a name that no file can have, or a notebook's cell.
        data = self._read(file, _MAX_READ_BYTES)
        data = _typed(file) if data is None else data
        if not data:
            return
        text = data.decode("utf-8", "replace") if len(data) <= MAX_SOURCE_BYTES else ""
        self.add("sources", (file, hashlib.sha256(data).hexdigest(), text))

    def flush(self) -> None:
        """Write everything buffered in one transaction, or raise and keep it for the next time.

        A row that does not fit its table is left out, with a note per table.
        """
        with self._lock(), _file_size_limit_as_error():
            self._check_files()
            db = self._db or self._open()
            taken = self._taken()
            try:
                with db:
                    for table, rows in taken.items():
                        self._insert(db, table, rows)
                    self._thin(db)
            except BaseException:
                self._put_back(taken)
                raise
            self._files = self._files or _open_files(self.path)

    def close(self) -> None:
        """Flush and close, which folds the WAL into the one file; `flush` opens it again.

        It is closed even when the flush fails: an open connection must not get into a fork.
        """
        try:
            if self._rows or self._step_rows:
                self.flush()
        finally:
            with self._lock(), _file_size_limit_as_error(), contextlib.suppress(OSError):
                self._check_files()
                if self._db is not None:
                    self._db.close()
                    self._db = None
                    self._files = {}

    def discard(self) -> None:
        """Drop what is buffered: the disk does not take it, and training must not fill memory."""
        self._rows.clear()
        self._step_rows.clear()

    @property
    def has_lost_files(self) -> bool:
        """Whether the script has closed our files.

        A script may close every file it does not know, as a daemon does, and open its own under
        the same numbers: SQLite would write into those.
        """
        files = self._files.items()
        return self._is_lost or any(_identity(fd) != was for fd, was in files)

    def _check_files(self) -> None:
        """Refuse to write to files that are no longer ours."""
        if not self.has_lost_files:
            return
        if self._db is not None:
            ctypes = standard("ctypes")  # rarely needed

            # Closing it would write to the script's files and close them: it is never freed.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._db))
            self._db = None
        self._is_lost = True
        raise OSError(_LOST)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Let one thread write at a time.

        Raises:
            OSError: another one writes to files that the script has closed; SQLite tries that for
                some ten seconds, which the script must not wait for.
        """
        while not self._flushing.acquire(timeout=_LOOK_EVERY_S):
            if self.has_lost_files:
                raise OSError(_LOST)
        try:
            yield
        finally:
            self._flushing.release()

    def _taken(self) -> dict[str, list[Row]]:
        taken: dict[str, list[Row]] = {}
        for _ in range(len(self._rows)):
            table, row = self._rows.popleft()
            taken.setdefault(table, []).append(tuple(map(_storable, row)))
        steps = [self._step_rows.popleft() for _ in range(len(self._step_rows))]
        if steps:
            taken.setdefault("steps", []).extend(steps)
        return taken

    def _put_back(self, taken: dict[str, list[Row]]) -> None:
        self._step_rows.extendleft(reversed(taken.pop("steps", [])))
        others = [(table, row) for table, rows in taken.items() for row in rows]
        self._rows.extendleft(reversed(others))

    def _insert(self, db: sqlite3.Connection, table: str, rows: list[Row]) -> None:
        refusal = _insert(db, table, rows)
        if refusal and table not in self._refused:
            self._refused.add(table)
            self.add("notes", (time.perf_counter(), f"rows of {table}: {refusal}"))
        self._counts[table] = self._counts.get(table, 0) + len(rows)

    def _thin(self, db: sqlite3.Connection) -> None:
        for table, bound in thinning.BOUNDS.items():
            if self._counts.get(table, 0) > self._limits[table]:
                left = self._counts[table] = thinning.thin(db, table)
                if table == "steps":  # what they became has a bound of its own
                    self._counts["step_blocks"] = thinning.count_rows(db, "step_blocks")
                # Rows of ever new loops do not merge. Then it is tried again only after the
                # table has doubled, so that the work stays in proportion.
                self._limits[table] = bound if left <= 0.8 * bound else 2 * left

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            self.path = _free_file(self.folder)
        with self._opening():
            # Only the background thread writes, but `close` may come from another one.
            db = sqlite3.connect(self.path, check_same_thread=False, isolation_level="DEFERRED")
            try:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens all its files
            except BaseException:
                db.close()
                raise
        try:
            # The system keeps what a killed process wrote; only a power cut could lose it.
            db.execute("PRAGMA synchronous=OFF")
            # Thinning needs scratch tables, and the temporary folder may be full.
            db.execute("PRAGMA temp_store=MEMORY")
            if not self._has_tables:
                self._make_tables(db)
                self._has_tables = True
        except BaseException:
            db.close()
            raise
        self._db = db
        return db

    def _make_tables(self, db: sqlite3.Connection) -> None:
        with db:
            # In one transaction, so that a reader sees all of it or an empty file.
            db.execute("BEGIN")
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={FORMAT_VERSION}")
            for name in TABLES:
                db.execute(create_sql(name))
            facts = {**self.facts, "tables": description()}
            rows = [(key, json.dumps(value, default=str)) for key, value in facts.items()]
            db.executemany("INSERT INTO meta VALUES (?, ?)", rows)


@contextlib.contextmanager
def _file_size_limit_as_error() -> Iterator[None]:
    """Let a file that reaches RLIMIT_FSIZE be an error of our write, never the end of the script.

    Python ignores the signal that comes with it, but a script may have set it back. It is sent to
    the thread that writes, so it is held back and taken here.
    """
    if not hasattr(signal, "SIGXFSZ"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGXFSZ])
    try:
        yield
    finally:
        if signal.SIGXFSZ not in before:
            if signal.SIGXFSZ in signal.sigpending() and hasattr(signal, "sigtimedwait"):
                signal.sigtimedwait([signal.SIGXFSZ], 0)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _read(file: str, limit: int) -> bytes | None:
    try:
        with open(file, "rb") as opened:
            return opened.read(limit)
    except (OSError, ValueError):
        return None


def _typed(file: str) -> bytes:
    """Return the text of code that was typed and not read from a file, as Python keeps it."""
    cache = getattr(sys.modules.get("linecache"), "cache", {})
    entry = cache.get(file, ())
    return "".join(entry[2]).encode() if len(entry) > 2 else b""


def _identity(fd: int) -> tuple[int, int] | None:
    """Return which file is open under a number; None if there is none."""
    try:
        facts = os.fstat(fd)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _open_files(path: Path | None) -> dict[int, tuple[int, int]]:
    """Return the numbers under which we have a database open; empty if not on Linux.

    A script may look at the recording while it runs. Ours are the highest numbers, one per file
    (`high_numbers` of the probes); others are the script's to close.
    """
    ours = set()
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            facts = os.stat(f"{path}{suffix}")
            ours.add((facts.st_dev, facts.st_ino))
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        return {}
    highest = {_identity(fd): fd for fd in sorted(numbers)}
    return {highest[which]: which for which in ours if which in highest}


def _storable(value: Any) -> Any:
    """Return text without what UTF-8 cannot say: the odd bytes of a file name."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    return value


def _insert(db: sqlite3.Connection, table: str, rows: list[Row]) -> str:
    """Insert rows, without those that SQLite refuses; return why it refused the last of them.

    Many rows in one statement: each statement gives up Python's lock, and has it back only after
    5 ms while the script computes in Python.
    """
    width = len(columns(table))
    refusal, begin = "", 0
    while begin < len(rows):
        room = min(len(rows) - begin, _MAX_VALUES // width)
        size = next(size for size in _ROWS_AT_ONCE if size <= room)
        block = rows[begin : begin + size]
        values = [value for row in block for value in row]
        row_sql = f"({','.join('?' * width)})"
        try:
            if {len(row) for row in block} != {width}:
                raise sqlite3.ProgrammingError(f"a row has not {width} values")
            sql = f"INSERT OR REPLACE INTO {table} VALUES {','.join([row_sql] * size)}"
            db.execute(sql, values)
        except _REFUSED as error:
            # A statement that fails has done nothing: its rows are tried one by one.
            each = (_insert(db, table, [row]) for row in block) if size > 1 else (str(error),)
            refusal = max(each) or refusal
        begin += size
    return refusal


def _free_file(folder: Path) -> Path:
    """Return a file name of this process that no earlier process with its number took."""
    for attempt in range(1000):
        name = f"{os.getpid()}{f'-{attempt}' if attempt else ''}{PROCESS_SUFFIX}"
        try:
            # SQLite gives the mode of this file to those beside it.
            os.close(trust.create_private(folder / name))
        except FileExistsError:
            continue
        return folder / name
    raise FileExistsError(f"{folder}: a thousand recordings of process {os.getpid()}")

"""Writes the file of one process: a buffer that training fills, a thread that empties it.

The training threads only append tuples to a deque. One background thread, owned by the
session, calls `flush` about twice a second. A process that is killed loses at most what was
appended since the last flush: SQLite's WAL survives the death of its writer.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from quickfit.recording import thinning
from quickfit.recording.schema import (
    APPLICATION_ID,
    FORMAT_VERSION,
    PROCESS_SUFFIX,
    TABLES,
    create_sql,
)

# A user file larger than this is not stored: nobody reads a report of it line by line.
MAX_SOURCE_BYTES = 1_000_000
Row = tuple[Any, ...]  # what SQLite takes: text, numbers, None


class Writer:
    """The recording of this process.

    Nothing touches the disk before the first `flush`, so that a process that ends at once,
    or is forked and executes something else, leaves no file.

    Args:
        folder: the run's folder.
        facts: what `meta` says of this process.
    """

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        self.folder = folder
        self.facts = facts
        self.path: Path | None = None
        self._db: sqlite3.Connection | None = None
        self._rows: deque[tuple[str, Row]] = deque()
        self._step_rows: deque[Row] = deque()
        self._sources: set[str] = set()
        self._counts: dict[str, int] = {}
        self._flushing = threading.Lock()

    def add(self, table: str, row: Row) -> None:
        """Buffer one row."""
        self._rows.append((table, row))

    @property
    def add_step(self) -> Any:  # the bound `append` of a deque: the cheapest call there is
        """A function that buffers one row of `steps`."""
        return self._step_rows.append

    def add_source(self, file: str) -> None:
        """Store the text of a user file once, so that a report is right after it changed."""
        if file in self._sources or file.startswith("<"):
            return
        self._sources.add(file)
        try:
            data = Path(file).read_bytes()
        except OSError:
            return
        text = data.decode("utf-8", "replace") if len(data) <= MAX_SOURCE_BYTES else ""
        self.add("sources", (file, hashlib.sha256(data).hexdigest(), text))

    def flush(self) -> None:
        """Write everything buffered in one transaction."""
        with self._flushing:
            db = self._db or self._open()
            with db:
                for table, rows in self._taken().items():
                    marks = ",".join("?" * len(rows[0]))
                    db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)
                    self._counts[table] = self._counts.get(table, 0) + len(rows)
                self._thin(db)

    def close(self) -> None:
        """Flush and close, which folds the WAL into the one file; `flush` opens it again."""
        if self._rows or self._step_rows:
            self.flush()
        with self._flushing:
            if self._db is not None:
                self._db.close()
                self._db = None

    def discard(self) -> None:
        """Drop what is buffered: the disk does not take it, and training must not fill memory."""
        self._rows.clear()
        self._step_rows.clear()

    def _taken(self) -> dict[str, list[Row]]:
        taken: dict[str, list[Row]] = {}
        for _ in range(len(self._rows)):
            table, row = self._rows.popleft()
            taken.setdefault(table, []).append(row)
        steps = [self._step_rows.popleft() for _ in range(len(self._step_rows))]
        if steps:
            taken["steps"] = steps
        return taken

    def _thin(self, db: sqlite3.Connection) -> None:
        for table, bound in thinning.BOUNDS.items():
            if self._counts.get(table, 0) > bound:
                self._counts[table] = thinning.thin(db, table)

    def _open(self) -> sqlite3.Connection:
        is_new = self.path is None
        if self.path is None:
            self.path = _free_file(self.folder)
        # Only the background thread writes, but `close` may come from another one.
        db = sqlite3.connect(self.path, check_same_thread=False, isolation_level="DEFERRED")
        db.execute("PRAGMA journal_mode=WAL")
        # The system keeps what a killed process wrote; only a power cut could lose it.
        db.execute("PRAGMA synchronous=OFF")
        if is_new:
            self._make_tables(db)
        self._db = db
        return db

    def _make_tables(self, db: sqlite3.Connection) -> None:
        with db:
            # In one transaction, so that a reader never sees a file without its identity.
            db.execute("BEGIN")
            db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={FORMAT_VERSION}")
            for name in TABLES:
                db.execute(create_sql(name))
            facts: Iterable[tuple[str, str]] = (
                (key, json.dumps(value, default=str)) for key, value in self.facts.items()
            )
            db.executemany("INSERT INTO meta VALUES (?, ?)", facts)


def _free_file(folder: Path) -> Path:
    """Return a file name of this process that no earlier process with its number took."""
    for attempt in range(1000):
        name = f"{os.getpid()}{f'-{attempt}' if attempt else ''}{PROCESS_SUFFIX}"
        try:
            os.close(os.open(folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            continue
        return folder / name
    raise FileExistsError(f"{folder}: a thousand recordings of process {os.getpid()}")

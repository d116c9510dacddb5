"""Reads a recording: of a finished, a growing or a killed run, of this or an older format.

Nothing read here is ever executed, and every string is hostile until a report escapes it.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quickfit.errors import RecordingError
from quickfit.recording import folder as folders
from quickfit.recording.schema import (
    APPLICATION_ID,
    FORMAT_VERSION,
    JSON_COLUMNS,
    PROCESS_SUFFIX,
    RUN_FILE,
    TABLES,
    columns,
)

Row = dict[str, Any]  # one row: column name to text, number or None
_SQLITE_MAGIC = b"SQLite format 3\x00"
_KNOWN_MAGIC = {
    b"\x1f\x8b": "gzip data",
    b"PK\x03\x04": "a zip archive",
    b"\x89HDF": "an HDF5 file",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"%PDF": "a PDF",
}


@dataclass
class ProcessRecording:
    """What one process of a run recorded: facts, and rows by table."""

    path: Path
    facts: Row
    tables: dict[str, list[Row]] = field(default_factory=dict)

    def rows(self, table: str) -> list[Row]:
        """Return the rows of a table in the order they were written."""
        return self.tables.get(table, [])

    @property
    def is_main(self) -> bool:
        """Whether this is the script itself and not a process it started."""
        return self.facts.get("role") == "main"


@dataclass
class Recording:
    """One run: the main process, the processes it started, and what the parent knows."""

    path: Path
    run: Row
    main: ProcessRecording
    others: list[ProcessRecording]
    problems: list[str]


def read(path: Path) -> Recording:
    """Read a run from its folder, or from the file of one of its processes.

    Raises:
        RecordingError: it is missing, foreign, damaged or newer than this quickfit.
    """
    if path.is_file() and path.suffix == PROCESS_SUFFIX:
        process = read_process(path)
        return Recording(path, folders.read_run_file(path.parent), process, [], [])
    if not path.exists():
        raise RecordingError(f"{path}: there is no such recording.\n{_where_runs_are(path)}")
    if not path.is_dir():
        raise RecordingError(
            f"{path}: this is not a quickfit recording (found: {_kind_of(path)}).\n"
            "A recording is a folder whose name ends in .qfrun; `quickfit run` prints its place."
        )
    return _read_folder(path)


def _read_folder(path: Path) -> Recording:
    files = folders.process_files(path)
    if not files:
        raise RecordingError(_nothing_recorded(path))
    processes: list[ProcessRecording] = []
    failures: list[tuple[Path, str]] = []
    for file in files:
        try:
            processes.append(read_process(file))
        except RecordingError as error:
            failures.append((file, str(error)))
    if not processes:
        raise RecordingError(failures[0][1])
    run = folders.read_run_file(path)
    main = next((p for p in processes if p.is_main), None)
    if main is None:
        raise RecordingError(_main_unreadable(path, failures, processes))
    others = [p for p in processes if p is not main]
    return Recording(path, run, main, others, [text for _, text in failures])


def read_process(path: Path) -> ProcessRecording:
    """Read the file of one process.

    Raises:
        RecordingError: the file is foreign, damaged or newer than this quickfit.
    """
    _check_magic(path)
    try:
        db = _connect(path)
        try:
            _check_identity(db, path)
            return _read_tables(db, path)
        finally:
            db.close()
    except sqlite3.Error as error:
        raise RecordingError(
            f"{path}: this recording is damaged ({error}).\n"
            "What it held cannot be trusted. Record the run again:\n"
            "    quickfit run YOUR_SCRIPT.py"
        ) from error


def _read_tables(db: sqlite3.Connection, path: Path) -> ProcessRecording:
    # One read transaction: a growing recording is seen at one moment.
    db.execute("BEGIN")
    present = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    if "meta" not in present:
        raise _damaged(path, "it has no table of facts")
    facts = {key: _fact(value) for key, value in db.execute("SELECT key, value FROM meta")}
    tables = {}
    for table in TABLES.keys() & present - {"meta"}:
        cursor = db.execute(f"SELECT * FROM {table} ORDER BY rowid")
        names = [column[0] for column in cursor.description]
        tables[table] = [dict(zip(names, row, strict=True)) for row in cursor]
        _check_types(path, table, tables[table])
    return ProcessRecording(path, facts, tables)


def _check_types(path: Path, table: str, rows: list[Row]) -> None:
    """Refuse rows that SQLite took although their values do not fit; unpack what is JSON."""
    for column in columns(table):
        kinds = str if column.kind == "TEXT" else (int, float)
        is_json = (table, column.name) in JSON_COLUMNS
        for place, row in enumerate(rows):
            value = row.get(column.name)
            if not isinstance(value, kinds) and not (column.may_miss and value is None):
                what = f"table {table}, row {place}: {column.name} is {str(value)[:40]!r}"
                raise _damaged(path, what)
            if is_json and isinstance(value, str):
                row[column.name] = _unpacked(path, table, column.name, value)


def _unpacked(path: Path, table: str, name: str, value: str) -> Any:  # JSON: any plain value
    try:
        return json.loads(value)
    except ValueError as error:
        raise _damaged(path, f"table {table}: {name} is not JSON") from error


def _damaged(path: Path, what: str) -> RecordingError:
    return RecordingError(
        f"{path}: this recording is damaged ({what}).\n"
        "Record the run again:\n    quickfit run YOUR_SCRIPT.py"
    )


def _fact(value: str) -> Any:  # JSON: any plain value
    try:
        return json.loads(value)
    except (ValueError, TypeError):
        return value


def _connect(path: Path) -> sqlite3.Connection:
    """Open read-only; where the folder does not allow even that, read a copy."""
    try:
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return db
    except sqlite3.OperationalError:
        copy = Path(tempfile.mkdtemp(prefix="quickfit-")) / path.name
        for suffix in ("", "-wal"):
            source = path.with_name(path.name + suffix)
            if source.exists():
                shutil.copyfile(source, copy.with_name(copy.name + suffix))
        db = sqlite3.connect(copy)
        memory = sqlite3.connect(":memory:")
        try:
            db.backup(memory)
        finally:
            db.close()
            shutil.rmtree(copy.parent, ignore_errors=True)
        return memory


def _check_magic(path: Path) -> None:
    try:
        head = path.open("rb").read(16)
    except OSError as error:
        raise RecordingError(
            f"{path}: cannot be read ({error.strerror}). Check its permissions."
        ) from error
    if head == b"" and not path.with_name(path.name + "-wal").exists():
        raise RecordingError(
            f"{path}: the recording is empty; the process ended before it wrote anything.\n"
            "Record the run again:\n    quickfit run YOUR_SCRIPT.py"
        )
    if head and head != _SQLITE_MAGIC:
        raise RecordingError(
            f"{path}: the recording of process {path.stem} is not a quickfit file"
            f" (found: {_kind_of(path)}).\n"
            "Record the run again:\n    quickfit run YOUR_SCRIPT.py"
        )


def _check_identity(db: sqlite3.Connection, path: Path) -> None:
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise RecordingError(
            f"{path}: this is an SQLite file, but not one that quickfit wrote.\n"
            "A recording is a folder whose name ends in .qfrun; `quickfit run` prints its place."
        )
    if version > FORMAT_VERSION:
        raise RecordingError(
            f"{path}: written by a newer quickfit (format {version}; this one reads up to"
            f" {FORMAT_VERSION}).\nTo read it:\n    pip install --upgrade quickfit"
        )


def _kind_of(path: Path) -> str:
    try:
        head = path.open("rb").read(16)
    except OSError as error:
        return error.strerror or "unreadable"
    if not head:
        return "an empty file"
    for magic, name in _KNOWN_MAGIC.items():
        if head.startswith(magic):
            return name
    return "text" if all(9 <= byte < 127 for byte in head) else "unknown data"


def _where_runs_are(path: Path) -> str:
    runs = Path(".quickfit") / "runs"
    found = sorted(runs.glob("*.qfrun"), key=lambda f: f.stat().st_mtime, reverse=True)
    if found:
        return f"The newest recording here is:\n    quickfit report {found[0]}"
    return "Record a run first:\n    quickfit run YOUR_SCRIPT.py"


def _nothing_recorded(path: Path) -> str:
    if not (path / RUN_FILE).exists():
        return (
            f"{path}: this folder is not a quickfit recording.\n"
            "A recording is a folder whose name ends in .qfrun; `quickfit run` prints its place."
        )
    return (
        f"{path}: nothing was recorded; the script ended before quickfit could watch it.\n"
        "Does it run without quickfit?\n    python YOUR_SCRIPT.py"
    )


def _main_unreadable(
    path: Path, failures: list[tuple[Path, str]], processes: list[ProcessRecording]
) -> str:
    reason = failures[0][1] if failures else f"{path}: the script's own recording is missing."
    return (
        f"{reason}\nAnother process of this run can be read. To report on it alone:\n"
        f"    quickfit report {processes[0].path}"
    )

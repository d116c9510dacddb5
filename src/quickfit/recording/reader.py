"""Reads a recording: of a finished, a growing or a killed run, of this or an older format.

Nothing read here is ever executed, and every string is hostile until a report escapes it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quickfit.errors import RecordingError
from quickfit.recording import folder as folders
from quickfit.recording import shapes
from quickfit.recording.opening import (
    WHAT_IT_IS,
    EmptyRecordingError,
    damaged,
    kind_of,
    open_file,
    too_large,
)
from quickfit.recording.schema import (
    PROCESS_SUFFIX,
    RUN_FILE,
    RUN_SUFFIX,
    TABLES,
    Column,
    columns,
)

Row = dict[str, Any]  # one row: column name to text, number or None; JSON columns hold any value
# A step that was written twice is left out. Where more than this is odd, the clock or the file is.
MAX_ODD_STEPS_SHARE = 0.05
# What is read of a run: a million steps count 14 MB. JSON takes 30 times its length in memory.
MAX_READ_BYTES = 400_000_000
_BYTES_OF_VALUE, _BYTES_OF_JSON = 16, 8
_CHUNK_ROWS = 2_000
_KINDS: dict[str, set[type]] = {"TEXT": {str}, "INTEGER": {int}, "REAL": {int, float}}


@dataclass
class ProcessRecording:
    """What one process of a run recorded: facts, and rows by table."""

    path: Path
    facts: Row
    tables: dict[str, list[Row]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

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


class _Allowance:
    """How much more of a run is read: a crafted tree of pages repeats its rows without an end."""

    def __init__(self) -> None:
        self._left = MAX_READ_BYTES

    def spend(self, count: int, path: Path) -> None:
        self._left -= count
        if self._left < 0:
            raise too_large(path, f"more than {MAX_READ_BYTES:,} bytes of rows", MAX_READ_BYTES)


def read(path: Path) -> Recording:
    """Read a run from its folder, or from the file of one of its processes.

    Raises:
        RecordingError: it is missing, foreign, damaged or newer than this quickfit.
    """
    try:
        return _read(path)
    except OSError as error:
        raise _unreadable(path, error) from error


def _read(path: Path) -> Recording:
    if path.is_dir():
        return _read_folder(path)
    if not path.exists():
        raise RecordingError(f"{path}: there is no such recording.\n{_where_runs_are()}")
    if path.suffix != PROCESS_SUFFIX:
        raise RecordingError(
            f"{path}: this is not a quickfit recording (found: {kind_of(path)}).\n{WHAT_IT_IS}"
        )
    process = read_process(path.resolve())  # a link that the user names is followed
    run = folders.read_run_file(path.parent)
    return Recording(path, run, process, [], list(process.problems))


def _read_folder(path: Path) -> Recording:
    files = folders.process_files(path)
    if not files:
        raise RecordingError(_nothing_recorded(path))
    processes: list[ProcessRecording] = []
    allowance = _Allowance()
    failures: dict[Path, RecordingError] = {}
    for file in files:
        try:
            processes.append(read_process(file, allowance))
        except RecordingError as error:
            failures[file] = error
    run = folders.read_run_file(path)
    if processes:
        # A worker that was ended while it opened its file has nothing to tell, and no problem.
        failures = {f: e for f, e in failures.items() if not isinstance(e, EmptyRecordingError)}
    processes.sort(key=lambda process: process.facts.get("started_s") or 0.0)
    main = next((process for process in processes if process.is_main), None)
    if main is None:
        raise RecordingError(_main_unreadable(path, run, failures, processes))
    others = [process for process in processes if process is not main]
    odd = [text for process in (main, *others) for text in process.problems]
    return Recording(path, run, main, others, [*map(str, failures.values()), *odd])


def read_process(path: Path, allowance: _Allowance | None = None) -> ProcessRecording:
    """Read the file of one process.

    Raises:
        RecordingError: the file is foreign, damaged or newer than this quickfit.
    """
    try:
        with closing(open_file(path)) as db:
            return _read_tables(db, path, allowance or _Allowance())
    # A name in a damaged file may not be UTF-8, which the module does not call its own error.
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise damaged(path, str(error)) from error
    except OSError as error:
        raise _unreadable(path, error) from error
    except MemoryError as error:
        raise too_large(path, "rows that do not fit in memory", MAX_READ_BYTES) from error


def _read_tables(db: sqlite3.Connection, path: Path, allowance: _Allowance) -> ProcessRecording:
    # One read transaction: a growing recording is seen at one moment.
    db.execute("BEGIN")
    present = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    if "meta" not in present:
        raise damaged(path, "it has no table meta")
    facts = {row["key"]: _fact(path, row) for row in _rows(db, path, "meta", None, allowance)}
    written = facts.pop("tables", None) or dict.fromkeys(present)
    missing = sorted(TABLES.keys() & written.keys() - present)
    if missing:
        raise damaged(path, f"it has no table {missing[0]}")
    wanted = TABLES.keys() & written.keys() - {"meta"}
    tables = {table: _rows(db, path, table, written[table], allowance) for table in wanted}
    if any(row["seen"] < 1 for row in tables.get("samples", [])):
        raise damaged(path, "table samples: a stack that was never seen")
    problems = _drop_odd_steps(path, tables)
    return ProcessRecording(path, facts, tables, problems)


def _drop_odd_steps(path: Path, tables: dict[str, list[Row]]) -> list[str]:
    """Leave out steps that no run can have taken, and say so; all shares are divided by steps.

    Raises:
        RecordingError: there are so many of them that the others cannot be trusted.
    """
    steps = tables.get("steps", [])
    ended: dict[int, float] = {}
    odd: list[int] = []
    for place, row in enumerate(steps):
        if ended.get(row["loop"], row["begin_s"]) <= row["begin_s"] < row["end_s"]:
            ended[row["loop"]] = row["end_s"]
        else:
            odd.append(place)
    if not odd:
        return []
    first = steps[odd[0]]
    what = (
        f"table steps, row {odd[0]}: a step from {first['begin_s']:g} to {first['end_s']:g} s,"
        " out of order"
    )
    if len(odd) == len(steps) or len(odd) > max(1, MAX_ODD_STEPS_SHARE * len(steps)):
        raise damaged(path, what)
    left_out = set(odd)
    tables["steps"] = [row for place, row in enumerate(steps) if place not in left_out]
    count = "1 step was" if len(odd) == 1 else f"{len(odd)} steps were"
    return [f"{count} left out of the recording ({what})."]


def _rows(
    db: sqlite3.Connection,
    path: Path,
    table: str,
    written: list[str] | None,
    allowance: _Allowance,
) -> list[Row]:
    """Return the rows of a table; refuse values that SQLite took although they do not fit.

    Args:
        written: the columns that the table had when it was made; None for all of today's.
    """
    wanted = columns(table)
    names = [column.name for column in wanted]
    # A column that was added since is empty in an older recording.
    asked = [name if written is None or name in written else f"NULL AS {name}" for name in names]
    asking = db.execute(f"SELECT {', '.join(asked)} FROM {table} ORDER BY rowid")
    rows: list[tuple[Any, ...]] = []
    while chunk := asking.fetchmany(_CHUNK_ROWS):
        texts = [value for row in chunk for value in row if isinstance(value, (str, bytes))]
        weight = _BYTES_OF_JSON if any((table, name) in shapes.SHAPES for name in names) else 1
        cells = len(chunk) * len(names)
        allowance.spend(cells * _BYTES_OF_VALUE + weight * sum(map(len, texts)), path)
        rows += chunk
    # By columns: most are checked as a whole, which is many times faster than value by value.
    parts: list[Sequence[Any]] = list(zip(*rows, strict=True))
    for place, (column, values) in enumerate(zip(wanted, parts, strict=False)):
        if not _fit(column, values):
            raise _misfit(path, table, column, values)
        check = shapes.SHAPES.get((table, column.name))
        if check is not None:
            where = f"table {table}: {column.name}"
            parts[place] = [_unpacked(path, where, value, check) for value in values]
    return [dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True)]


def _fit(column: Column, values: Sequence[Any]) -> bool:
    if column.may_miss:
        values = [value for value in values if value is not None]
    if not set(map(type, values)) <= _KINDS[column.kind]:
        return False
    return column.kind != "REAL" or max(map(abs, values), default=0) <= shapes.LARGEST


def _misfit(path: Path, table: str, column: Column, values: Sequence[Any]) -> RecordingError:
    row = next(row for row, value in enumerate(values) if not _fit(column, [value]))
    return damaged(path, f"table {table}, row {row}: {column.name} is {values[row]!r:.40}")


def _unpacked(path: Path, where: str, text: str, check: shapes.Check) -> Any:  # any JSON value
    try:
        value = shapes.unpacked(text)
    except ValueError as error:
        raise damaged(path, f"{where} is not JSON") from error
    if not check(value):
        raise damaged(path, f"{where} is {text!r:.40}")
    return value


def _fact(path: Path, row: Row) -> Any:  # any JSON value
    known = shapes.META.get(row["key"], lambda value: True)
    where = f"the fact {row['key']!r:.40}"
    return _unpacked(path, where, row["value"], lambda value: value is None or known(value))


def _unreadable(path: Path, error: OSError) -> RecordingError:
    return RecordingError(
        f"{path}: the recording cannot be read ({error.strerror or error}).\n"
        f"Check who may read it:\n    ls -ld {path}"
    )


def _where_runs_are() -> str:
    runs = (Path(".quickfit") / "runs").glob(f"*{RUN_SUFFIX}")
    newest = max(runs, key=folders.changed_at, default=None)
    if newest is not None:
        return f"The newest recording here is:\n    quickfit report {newest}"
    return "Record a run first:\n    quickfit run YOUR_SCRIPT.py"


def _nothing_recorded(path: Path) -> str:
    if not (path / RUN_FILE).exists():
        return f"{path}: this folder is not a quickfit recording.\n{WHAT_IT_IS}"
    return (
        f"{path}: nothing was recorded; the script ended before quickfit could watch it.\n"
        "Does it run without quickfit?\n    python YOUR_SCRIPT.py"
    )


def _main_unreadable(
    path: Path, run: Row, failures: dict[Path, RecordingError], processes: list[ProcessRecording]
) -> str:
    main = path / f"{run.get('pid')}{PROCESS_SUFFIX}"
    if failures:
        file = main if main in failures else next(iter(failures))
        if not processes:
            return str(failures[file])
        what = str(failures[file]).splitlines()[0].removeprefix(f"{file}: ")
    else:
        what = "the recording of the script itself is missing."
    if len(processes) == 1:
        others = "The other process of this run can be read. To report on it alone:"
    else:
        others = f"{len(processes)} other processes of this run can be read. To report on one:"
    return f"{path}: {what}\n{others}\n    quickfit report {processes[0].path}"

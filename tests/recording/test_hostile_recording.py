"""A recording that somebody made up is refused with a clear error, before it costs anything."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from quickfit.errors import RecordingError
from quickfit.recording import opening, reader
from quickfit.recording.schema import TABLES, create_sql, is_ordinary_table

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
# Far below what a generated column would take.
MEMORY_BYTES = 600_000_000
READ = f"""
import resource, sys
from pathlib import Path
from quickfit.errors import RecordingError
from quickfit.recording import reader
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_BYTES}, {MEMORY_BYTES}))
try:
    reader.read_process(Path(sys.argv[1]))
except RecordingError as error:
    print(error)
"""


@pytest.fixture
def file(record, tmp_path):
    return record(tmp_path)


def refusal(path):
    with pytest.raises(RecordingError) as caught:
        reader.read_process(path)
    return str(caught.value)


@pytest.mark.parametrize("table", TABLES)
def test_what_quickfit_writes_is_ordinary(table):
    assert is_ordinary_table(table, create_sql(table))


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE notes (at_s REAL, text TEXT AS (hex(zeroblob(200000))) VIRTUAL)",
        "CREATE TABLE notes (at_s REAL, text TEXT GENERATED ALWAYS AS ('x') STORED)",
        "CREATE TABLE notes (at_s REAL, text TEXT DEFAULT (hex(zeroblob(2000000))))",
        "CREATE TABLE notes (at_s REAL, text TEXT CHECK (length(text) > 0))",
        "CREATE TABLE notes (at_s REAL, text TEXT COLLATE NOCASE)",
        "CREATE TABLE notes (at_s REAL, text TEXT, PRIMARY KEY (at_s)) WITHOUT ROWID",
        "CREATE VIEW notes AS SELECT 1.0 AS at_s, 'x' AS text",
        f"CREATE VIEW notes AS {ENDLESS} SELECT i AS at_s, 'x' AS text FROM n",
        "CREATE TABLE notes (at_s REAL, text TEXT DEFAULT (zeroblob(1000000000)))",
        "CREATE VIRTUAL TABLE notes USING fts5(at_s, text)",
    ],
)
def test_a_table_that_is_not_ordinary_is_refused_before_a_row_is_read(file, change, sql):
    change(file, "DROP TABLE notes", sql)
    assert "that quickfit did not write" in refusal(file)


@pytest.mark.parametrize(
    "sql",
    [
        f"CREATE VIEW more AS {ENDLESS} SELECT i FROM n",
        "CREATE TABLE more (a TEXT PRIMARY KEY) WITHOUT ROWID",
        "CREATE TABLE more (a TEXT, b TEXT AS (hex(zeroblob(200000000))))",
        "CREATE VIRTUAL TABLE more USING rtree(a, b, c)",
        "CREATE TRIGGER t AFTER INSERT ON notes BEGIN SELECT 1; END",
        "CREATE INDEX notes_text ON notes (text)",
        'CREATE TABLE "odd\x1b[31m" (a TEXT)',
    ],
)
def test_anything_else_in_the_file_is_refused(file, change, sql):
    change(file, sql)
    said = refusal(file)
    assert "that quickfit did not write" in said
    assert "\x1b" not in said


def test_a_table_of_a_newer_quickfit_is_no_reason_to_refuse(file, change):
    change(file, "CREATE TABLE warnings (at_s REAL NOT NULL, text TEXT)")
    assert reader.read_process(file).facts["role"] == "main"


def test_a_schema_that_sqlite_refuses_is_told_without_escape_sequences(file):
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA writable_schema=ON")
        db.execute(
            "UPDATE sqlite_master SET sql = 'CREATE TABLE \x1b[31mnotes (' WHERE name='notes'"
        )
        db.commit()
    said = refusal(file)
    assert "is damaged" in said
    assert "\x1b" not in said


def test_a_value_that_is_too_long_is_refused(file, change):
    change(file, f"INSERT INTO notes VALUES (1.0, hex(zeroblob({opening.MAX_VALUE_BYTES})))")
    assert "too big" in refusal(file)


def test_more_rows_than_a_run_can_have_are_refused(file, change, monkeypatch):
    monkeypatch.setattr(reader, "MAX_READ_BYTES", 1_000_000)
    numbers = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
    change(file, f"INSERT INTO notes {numbers} SELECT i, 'x' FROM n")
    said = refusal(file)
    assert "this recording is too large to be one of quickfit's" in said
    assert "Received: more than 1,000,000 bytes of rows" in said


def test_all_processes_of_a_run_share_what_may_be_read(record, tmp_path, monkeypatch):
    main = record(tmp_path)
    for _ in range(5):
        record(tmp_path, role="descendant")
    monkeypatch.setattr(reader, "MAX_READ_BYTES", 3 * main.stat().st_size // 4)
    read = reader.read(main.parent)
    assert any("too large" in problem for problem in read.problems)


def test_a_file_that_is_too_large_is_not_opened(file, monkeypatch):
    monkeypatch.setattr(opening, "MAX_FILE_BYTES", 1000)
    said = refusal(file)
    assert "too large" in said
    assert "Received: a file of" in said
    assert "If it is yours, record the run again:\n    quickfit run YOUR_SCRIPT.py" in said


def test_work_without_an_end_is_cut_short(file, monkeypatch):
    monkeypatch.setattr(opening, "MAX_INSTRUCTIONS", 20)
    monkeypatch.setattr(opening, "_CHECK_EVERY", 10)
    assert "interrupted" in refusal(file)


def test_a_small_file_that_would_unfold_to_gigabytes_takes_no_memory(file, change):
    made = "CREATE TABLE notes (at_s REAL, text TEXT AS (hex(zeroblob(2000000 + at_s))) VIRTUAL)"
    numbers = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
    change(file, "DROP TABLE notes", made, f"INSERT INTO notes {numbers} SELECT i FROM n")
    done = subprocess.run(
        [sys.executable, "-c", READ, str(file)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "it has a table 'notes' that quickfit did not write" in done.stdout


def test_a_log_beside_the_file_is_checked_like_the_file(file, tmp_path):
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA wal_autocheckpoint=0")
        db.execute(f"CREATE VIEW more AS {ENDLESS} SELECT i FROM n")
        db.commit()
        copy = tmp_path / "2.sqlite"
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{file}{suffix}", f"{copy}{suffix}")
    assert "it has a view 'more' that quickfit did not write" in refusal(copy)


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
@pytest.mark.parametrize("content", [b"", b"\0" * 5000, bytes(range(256)) * 40])
def test_rubbish_beside_the_file_does_not_hide_the_recording(file, suffix, content):
    file.with_name(file.name + suffix).write_bytes(content)
    assert reader.read_process(file).facts["role"] == "main"


def test_a_journal_beside_the_file_is_not_rolled_back(file, tmp_path):
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=DELETE")
        db.execute("PRAGMA cache_size=1")
        db.execute("BEGIN")
        db.execute("UPDATE meta SET value = value || ' '")
        copy = tmp_path / "2.sqlite"
        for suffix in ("", "-journal"):
            shutil.copyfile(f"{file}{suffix}", f"{copy}{suffix}")
    before = copy.read_bytes()
    with contextlib.suppress(RecordingError):
        reader.read_process(copy)
    assert copy.read_bytes() == before


def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "1.sqlite")
    os.mkfifo(tmp_path / "run.json")
    with pytest.raises(RecordingError, match="not an ordinary file"):
        reader.read(tmp_path)


# -- files that are not the recording's own --------------------------------------------------------


@pytest.fixture
def users(tmp_path):
    """A database of the user beside which SQLite makes files when it reads it."""
    folder = tmp_path / "user"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "app.sqlite")) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE t (a)")
        db.commit()
    return folder / "app.sqlite"


def state(folder):
    facts = {path.name: path.stat() for path in folder.iterdir()}
    return folder.stat().st_mtime_ns, {n: (f.st_size, f.st_mtime_ns) for n, f in facts.items()}


OPENS = [opening.open_file, lambda path: opening.open_growing(path, busy_s=1.0)]


@pytest.mark.parametrize("opens", OPENS)
def test_a_link_to_a_database_of_the_user_is_not_opened(tmp_path, users, opens):
    run = tmp_path / "run.qfrun"
    run.mkdir()
    (run / "99.sqlite").symlink_to(users)
    before = state(users.parent)
    with pytest.raises(RecordingError, match=r"99.sqlite is not an ordinary file"):
        opens(run / "99.sqlite")
    assert state(users.parent) == before


@pytest.mark.parametrize("opens", OPENS)
def test_nothing_is_written_beside_a_database_of_the_user(tmp_path, users, opens):
    before = state(users.parent)
    with pytest.raises(RecordingError, match="not one that quickfit wrote"):
        opens(users)
    os.link(users, tmp_path / "1.sqlite")
    with pytest.raises(RecordingError, match="not one that quickfit wrote"):
        opens(tmp_path / "1.sqlite")
    assert state(users.parent) == before
    assert not list(tmp_path.glob("1.sqlite-*"))


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_a_pipe_or_a_link_beside_is_refused(file, users, suffix):
    place = file.with_name(file.name + suffix)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    assert "is not an ordinary file" in refusal(file)
    place.unlink()
    place.symlink_to(users)
    assert "is not an ordinary file" in refusal(file)


def test_the_user_may_name_a_recording_by_a_link(record, tmp_path):
    run = tmp_path / "run.qfrun"
    run.mkdir()
    file = record(run)
    (tmp_path / "link.qfrun").symlink_to(run)
    (tmp_path / "link.sqlite").symlink_to(file)
    steps = reader.read(run).main.rows("steps")
    assert reader.read(tmp_path / "link.qfrun").main.rows("steps") == steps
    assert reader.read(tmp_path / "link.sqlite").main.rows("steps") == steps


def test_a_run_file_that_is_a_link_is_not_read(record, tmp_path):
    record(tmp_path)
    (tmp_path / "run.json").unlink(missing_ok=True)
    (tmp_path / "other.json").write_text('{"script": "/x.py"}')
    (tmp_path / "run.json").symlink_to(tmp_path / "other.json")
    assert reader.read(tmp_path).run == {}


def test_a_recording_of_ours_is_known_before_and_after_its_wal_is_folded(tmp_path):
    from quickfit.recording.writer import Writer

    writer = Writer(tmp_path, {"role": "main", "started_s": 0.0})
    writer.add("notes", (1.0, "text"))
    writer.flush()
    (file,) = tmp_path.glob("*.sqlite")
    assert opening._is_ours(file)
    assert file.read_bytes()[68:72] == bytes(4)  # it is in the WAL alone
    writer.close()
    assert opening._is_ours(file)

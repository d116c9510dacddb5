"""Whether a script has reacted to Ctrl-C is told from the lines its main thread was seen at."""

import json
import sqlite3
from contextlib import closing

import pytest

from quickfit.liveness.interrupts import has_reacted
from quickfit.liveness.rows import NewRows
from quickfit.recording.schema import APPLICATION_ID

FIT, STEP, SAVE, CLEAN = 1, 2, 3, 4
INTERRUPTED_S = 100.2


def recording(tmp_path, windows, **facts):
    """Return a recording with the main thread's stacks of each half second, from 98.5 s on."""
    file = tmp_path / "1.sqlite"
    with closing(sqlite3.connect(file)) as db, db:
        db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        db.execute("PRAGMA user_version=1")
        db.execute("CREATE TABLE meta (key TEXT, value TEXT)")
        db.execute("CREATE TABLE stacks (id INTEGER, role TEXT, frames TEXT)")
        db.execute("CREATE TABLE samples (at_s REAL, stack INTEGER, loop INTEGER, seen INTEGER)")
        db.executemany(
            "INSERT INTO meta VALUES (?, ?)", [(k, json.dumps(v)) for k, v in facts.items()]
        )
        db.executemany("INSERT INTO stacks VALUES (?, 'main', '[]')", [(n,) for n in range(1, 5)])
        db.execute("INSERT INTO stacks VALUES (9, 'input', '[]')")
        db.execute("CREATE TABLE machine (at_s REAL)")
        for place, stacks in enumerate(windows):
            at_s = 98.5 + place / 2
            db.execute("INSERT INTO samples VALUES (?, 9, NULL, 10)", [at_s])
            db.executemany(
                "INSERT INTO samples VALUES (?, ?, NULL, 5)", [(at_s, s) for s in stacks]
            )
    return NewRows(file)


# Half seconds that end at 98.5, 99, 99.5 and 100 s; then the one in which Ctrl-C is pressed.
@pytest.mark.parametrize(
    ("windows", "reacted"),
    [
        ([[FIT], [FIT], [FIT], [FIT], [FIT], [FIT]], False),
        ([[STEP], [STEP, FIT], [STEP], [STEP, FIT], [FIT], [FIT], [FIT]], False),
        ([[FIT], [FIT], [FIT], [FIT], [FIT, SAVE], [SAVE]], None),
        ([[FIT], [FIT], [FIT], [FIT], [FIT], [SAVE], [SAVE]], True),
        ([[FIT], [FIT], [FIT], [FIT], [FIT], [SAVE, CLEAN]], True),
        ([[FIT], [FIT], [FIT], [FIT], [FIT], [FIT, STEP]], True),
        ([[FIT], [FIT], [FIT], [FIT], [FIT]], None),
        ([[FIT], [FIT], [FIT], [FIT]], None),
        ([], None),
    ],
    ids=[
        *("stands still", "the call had just begun", "saves since then or since just before"),
        *("saves", "saves, then cleans up", "goes on training"),
        *("too early", "writes no more", "nothing was recorded"),
    ],
)
def test_a_main_thread_that_is_on_another_line_has_reacted(tmp_path, windows, reacted):
    assert has_reacted(recording(tmp_path, windows), INTERRUPTED_S) is reacted


def test_a_script_whose_last_line_has_run_has_reacted(tmp_path):
    assert has_reacted(recording(tmp_path, [[FIT]] * 8, ending_s=100.3), INTERRUPTED_S) is True


def test_a_main_thread_without_a_line_of_python_is_in_the_exit_of_the_interpreter(tmp_path):
    rows = recording(tmp_path, [[FIT]] * 5)
    assert has_reacted(rows, INTERRUPTED_S) is None
    with closing(sqlite3.connect(rows.file)) as db, db:
        db.execute("INSERT INTO machine VALUES (?)", [INTERRUPTED_S + 2.0])
    assert has_reacted(rows, INTERRUPTED_S) is True


def test_of_a_recording_that_is_not_there_nothing_is_known(tmp_path):
    assert has_reacted(NewRows(tmp_path / "none.sqlite"), INTERRUPTED_S) is None

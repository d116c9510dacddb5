"""Reading a recording: whatever the files hold, a run or an error that says what to do."""

import gzip
import io
import json
import os
import random
import re
import shutil
import sqlite3
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quickfit.diagnosis import diagnose
from quickfit.errors import QuickfitError, RecordingError
from quickfit.recording import folder as folders
from quickfit.recording import opening
from quickfit.recording.reader import read, read_process
from quickfit.recording.schema import FORMAT_VERSION, TABLES, columns, description
from quickfit.recording.writer import Writer

AGAIN = "Record the run again:\n    quickfit run YOUR_SCRIPT.py"
FUZZ = settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def message(path: Path) -> str:
    with pytest.raises(RecordingError) as caught:
        read(path)
    return str(caught.value)


@pytest.fixture(scope="module")
def template(tmp_path_factory, record):
    """A run that is copied for each test, which is faster than to record it anew."""
    return record(tmp_path_factory.mktemp("template") / "run.qfrun").parent


@pytest.fixture
def run(tmp_path, template):
    """The folder of a run with one process."""
    return shutil.copytree(template, tmp_path / "run.qfrun")


@pytest.fixture
def file(run):
    """The only file of that run."""
    (file,) = folders.process_files(run)
    return file


# -- runs that can be read ------------------------------------------------------------------------


def test_a_run_is_read_from_its_folder(run):
    recording = read(run)
    assert recording.main.is_main
    assert (recording.others, recording.problems) == ([], [])
    assert recording.run["script"] == "/home/someone/train.py"
    assert len(recording.main.rows("steps")) == 60
    assert recording.main.rows("no such table") == []


def test_a_process_is_read_from_its_file_with_what_the_parent_knows(file):
    recording = read(file)
    assert recording.path == recording.main.path == file
    assert recording.run["pid"] == int(file.stem)


def test_json_comes_back_as_what_it_means(run):
    main = read(run).main
    assert main.rows("loops")[0]["facts"]["input"] == "tf.data"
    assert main.rows("datasets")[1]["inputs"] == [1]
    assert main.rows("pipelines")[0]["nodes"][0][1] == "Root"
    assert main.rows("step_blocks")[0]["histogram"] == {"100": 100}
    told = [row["arguments"] for row in main.rows("traces")]
    assert told[0] is None, "nobody told"
    assert told[1]["args"] == [["x", "tensor", "float32 (25,)"]]


def test_the_processes_a_script_started_come_in_the_order_they_started(run, record):
    for started_s in (95.0, 91.0, 93.0):
        record(run, role="descendant", tables={}, started_s=started_s)
    others = read(run).others
    assert [process.facts["started_s"] for process in others] == [91.0, 93.0, 95.0]
    assert not any(process.is_main for process in others)


def test_a_run_without_what_the_parent_knows_is_read_all_the_same(run):
    (run / "run.json").unlink()
    assert read(run).run == {}


def test_reading_does_not_change_the_file(file):
    before = file.read_bytes()
    read(file)
    read(file.parent)
    assert file.read_bytes() == before


def test_a_name_with_odd_characters_is_opened(tmp_path, record):
    file = record(tmp_path / "50% off? #1.qfrun")
    assert read(file.parent).main.path == file


def test_where_the_folder_does_not_let_sqlite_open_it_a_copy_is_read(run, monkeypatch):
    connect, refused = sqlite3.connect, []

    def refusing(database, *args, **kwargs):
        if not refused:
            refused.append(database)
            raise sqlite3.OperationalError("unable to open database file")
        return connect(database, *args, **kwargs)

    monkeypatch.setattr(sqlite3, "connect", refusing)
    assert len(read(run).main.rows("steps")) == 60
    assert refused[0].endswith("?mode=ro")
    assert not list(Path(opening.tempfile.gettempdir()).glob("quickfit-*/100.sqlite"))


def test_where_not_even_a_copy_can_be_made_the_message_says_so(run, file, monkeypatch):
    def refuse(*args, **kwargs):
        raise sqlite3.OperationalError("unable to open database file")

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    monkeypatch.setattr(opening, "copy_bytes", full)
    assert message(run) == (
        f"{file}: the recording cannot be read (No space left on device).\n"
        f"Check who may read it:\n    ls -ld {file}"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_read_only_folder_is_read(run):
    run.chmod(0o500)
    try:
        assert len(read(run).main.rows("steps")) == 60
    finally:
        run.chmod(0o700)


# -- not a recording ------------------------------------------------------------------------------


def test_a_path_that_does_not_exist_names_the_newest_run(tmp_path, record, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = Path(".quickfit") / "runs"
    for age_s, name in ((10, "old"), (0, "new"), (20, "older")):
        record(runs / f"{name}.qfrun")
        os.utime(runs / f"{name}.qfrun", (1e9 - age_s, 1e9 - age_s))
    assert message(Path("nothing.qfrun")) == (
        "nothing.qfrun: there is no such recording.\n"
        "The newest recording here is:\n"
        "    quickfit report .quickfit/runs/new.qfrun"
    )


@pytest.mark.parametrize("name", ["nothing.qfrun", "nothing.sqlite", "no/thing"])
def test_a_path_that_does_not_exist_without_runs_says_how_to_record(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert message(Path(name)) == (
        f"{name}: there is no such recording.\nRecord a run first:\n    quickfit run YOUR_SCRIPT.py"
    )


def test_a_name_that_no_file_system_takes_is_an_error_of_ours(tmp_path):
    assert "cannot be read (File name too long)" in message(tmp_path / ("x" * 300))


@pytest.mark.parametrize("content", [[], ["notes.txt"]])
def test_a_folder_that_is_not_a_recording_is_told_so(tmp_path, content):
    for name in content:
        (tmp_path / name).write_text("x")
    assert message(tmp_path) == (
        f"{tmp_path}: this folder is not a quickfit recording.\n{opening.WHAT_IT_IS}"
    )


def test_a_run_in_which_nothing_was_recorded_says_what_to_try(tmp_path):
    folders.write_run_file(tmp_path, {})
    assert message(tmp_path) == (
        f"{tmp_path}: nothing was recorded; the script ended before quickfit could watch it.\n"
        "Does it run without quickfit?\n    python YOUR_SCRIPT.py"
    )


def zipped() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("a", "b")
    return data.getvalue()


FOREIGN = [
    pytest.param(gzip.compress(b"x"), "gzip data", id="gzip"),
    pytest.param(zipped(), "a zip archive", id="zip"),
    pytest.param(b"\x89PNG\r\n\x1a\n" + bytes(20), "a PNG image", id="png"),
    pytest.param(b"\xff\xd8\xff\xe0" + bytes(20), "a JPEG image", id="jpeg"),
    pytest.param(b"\x89HDF\r\n\x1a\n", "an HDF5 file", id="hdf5"),
    pytest.param(b"%PDF-1.7", "a PDF", id="pdf"),
    pytest.param(b"import tensorflow as tf\n", "text", id="text"),
    pytest.param(bytes(range(200)), "unknown data", id="binary"),
]


@pytest.mark.parametrize(("data", "kind"), FOREIGN)
def test_a_foreign_file_in_a_run_is_named_for_what_it_is(run, file, data, kind):
    file.write_bytes(data)
    assert message(run) == (
        f"{file}: the recording of process {file.stem} is not a quickfit file"
        f" (found: {kind}).\n{AGAIN}"
    )


@pytest.mark.parametrize(
    ("data", "kind"), [*FOREIGN, pytest.param(b"", "an empty file", id="empty")]
)
def test_a_foreign_file_elsewhere_is_named_for_what_it_is(tmp_path, data, kind):
    (tmp_path / "model.keras").write_bytes(data)
    assert message(tmp_path / "model.keras") == (
        f"{tmp_path / 'model.keras'}: this is not a quickfit recording (found: {kind}).\n"
        f"{opening.WHAT_IT_IS}"
    )


def test_a_recording_under_another_name_is_at_least_called_an_sqlite_file(file):
    moved = file.rename(file.with_suffix(".db"))
    assert "(found: an SQLite file)" in message(moved)


def test_a_foreign_sqlite_file_is_told_so(tmp_path, change):
    change(tmp_path / "1.sqlite", "CREATE TABLE steps (a)")
    assert message(tmp_path / "1.sqlite") == (
        f"{tmp_path / '1.sqlite'}: this is an SQLite file, but not one that quickfit wrote.\n"
        f"{opening.WHAT_IT_IS}"
    )


@pytest.mark.parametrize("statements", [[], ["PRAGMA journal_mode=WAL"]])
def test_a_process_that_ended_before_it_wrote_left_an_empty_recording(tmp_path, change, statements):
    (tmp_path / "1.sqlite").touch()
    change(tmp_path / "1.sqlite", *statements)
    assert message(tmp_path / "1.sqlite") == (
        f"{tmp_path / '1.sqlite'}: the recording of process 1 is empty; the process ended before"
        f" it wrote anything.\n{AGAIN}"
    )


@pytest.mark.parametrize("statements", [[], ["PRAGMA journal_mode=WAL"]])
def test_a_worker_that_was_ended_while_it_opened_its_file_is_no_problem(run, change, statements):
    (run / "99.sqlite").touch()
    change(run / "99.sqlite", *statements)
    recording = read(run)
    assert (recording.others, recording.problems) == ([], [])


def test_a_newer_format_asks_for_a_newer_quickfit(run, file, change):
    change(file, f"PRAGMA user_version={FORMAT_VERSION + 1}")
    assert message(run) == (
        f"{file}: written by a newer quickfit (format {FORMAT_VERSION + 1}; this one reads up to"
        f" {FORMAT_VERSION}).\nTo read it:\n    pip install --upgrade quickfit"
    )


def test_a_file_without_a_format_is_damaged(file, change):
    change(file, "PRAGMA user_version=0")
    assert "is damaged (its format is 0, and the first one is 1)" in message(file)


def test_a_folder_in_the_place_of_a_file_is_an_error_of_ours(run, file):
    file.unlink()
    file.mkdir()
    assert f"{file}: the recording cannot be read (Is a directory)" in message(run)


# -- damage ---------------------------------------------------------------------------------------


def damage(path: Path, file: Path | None = None) -> str:
    """Return what is damaged, after checking that the rest of the message is as it should be."""
    file = file or path
    found = re.fullmatch(
        rf"{re.escape(str(file))}: the recording of process {file.stem} is damaged \((.*)\)\.\n"
        + re.escape(AGAIN),
        message(path),
        re.DOTALL,
    )
    assert found is not None
    return found[1]


@pytest.mark.parametrize("size", [1, 8, 15, 16, 50, 99, 100, 101, 512, 1000, 4095, 4096, 5000])
def test_a_file_that_was_cut_short_is_damaged(run, file, size):
    os.truncate(file, size)
    assert damage(run, file)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95])
def test_a_file_that_was_cut_in_the_middle_is_read_or_damaged(file, share):
    os.truncate(file, int(file.stat().st_size * share))
    assert damage(file)


def test_a_recording_from_before_a_table_was_added_is_read(file, change):
    tables = {name: names for name, names in description().items() if name != "notes"}
    fact = json.dumps(tables)
    change(file, "DROP TABLE notes", f"UPDATE meta SET value = '{fact}' WHERE key = 'tables'")
    process = read_process(file)
    assert process.rows("notes") == []
    assert len(process.rows("steps")) == 60


def test_a_recording_from_before_a_column_was_added_is_read_if_it_may_miss(file, change):
    tables = description()
    tables["machine"].remove("pressure")
    fact = json.dumps(tables)
    change(
        file,
        "ALTER TABLE machine DROP COLUMN pressure",
        f"UPDATE meta SET value = '{fact}' WHERE key = 'tables'",
    )
    rows = read_process(file).rows("machine")
    assert len(rows) == 24
    assert {row["pressure"] for row in rows} == {None}


NEW_COLUMNS = {
    "steps": ["wait_s"],
    "callbacks": ["cpu_s", "is_user"],
    "traces": ["arguments"],
    "machine": [column.name for column in columns("machine")[11:]],
}
NEW_TABLES = [
    *("calls", "copies", "thread_groups", "data_folders", "objects"),
    *("device_memory", "allocations", "hooks", "holders"),
    *("gpus", "device_use", "device_work", "device_idle", "profile_steps"),
]


def test_a_recording_of_the_first_quickfit_is_read_and_diagnosed(file, change):
    """It had only `fit` loops, and a dozen tables and columns less."""
    kept = {table: list(names) for table, names in description().items()}
    statements = [f"DROP TABLE {table}" for table in NEW_TABLES]
    for table in NEW_TABLES:
        del kept[table]
    for table, names in NEW_COLUMNS.items():
        statements += [f"ALTER TABLE {table} DROP COLUMN {name}" for name in names]
        kept[table] = [name for name in kept[table] if name not in names]
    fact = json.dumps(kept)
    change(file, *statements, f"UPDATE meta SET value = '{fact}' WHERE key = 'tables'")
    process = read_process(file)
    assert all(process.rows(table) == [] for table in NEW_TABLES)
    for table, names in NEW_COLUMNS.items():
        assert {row[name] for row in process.rows(table) for name in names} == {None}
    assert diagnose(file).breakdown is not None


@pytest.mark.parametrize("column", ["call_s", "callbacks_s", "wait_s", "logs_s", "cpu_s"])
def test_steps_of_which_a_part_was_not_measured_are_read_and_diagnosed(file, change, column):
    change(file, f"UPDATE steps SET {column} = NULL")
    assert {row[column] for row in read_process(file).rows("steps")} == {None}
    assert diagnose(file).breakdown is not None


def test_a_recording_that_never_had_a_column_that_is_needed_is_damaged(file, change):
    tables = description()
    tables["steps"].remove("end_s")
    change(file, f"UPDATE meta SET value = '{json.dumps(tables)}' WHERE key = 'tables'")
    assert damage(file) == "table steps, row 0: end_s is None"


@pytest.mark.parametrize("table", TABLES)
def test_a_dropped_table_is_damage(file, change, table):
    change(file, f"DROP TABLE {table}")
    assert damage(file) == f"it has no table {table}"


def test_a_view_in_the_place_of_a_table_is_not_run(file, change):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    change(file, "DROP TABLE notes", f"CREATE VIEW notes AS {endless}")
    assert damage(file) == "it has a view 'notes' that quickfit did not write"


@pytest.mark.parametrize(
    ("table", "column"),
    [("steps", "end_s"), ("loops", "file"), ("pipelines", "nodes"), ("machine", "pressure")],
)
def test_a_dropped_column_is_damage_even_where_it_may_miss(file, change, table, column):
    change(file, f"ALTER TABLE {table} DROP COLUMN {column}")
    assert damage(file) == f"no such column: {column}"


@pytest.mark.parametrize("table", [table for table in TABLES if table != "meta"])
def test_a_value_that_is_missing_where_it_is_needed_is_damage(file, put, table):
    column = next(column for column in columns(table) if not column.may_miss)
    put(file, table, column.name, None)
    assert damage(file) == f"table {table}, row 0: {column.name} is None"


def every_column() -> list[tuple[str, str, str]]:
    return [(table, column.name, column.kind) for table in TABLES for column in columns(table)]


@pytest.mark.parametrize(("table", "column", "kind"), every_column())
def test_a_value_of_the_wrong_type_is_damage_in_every_column(file, put, table, column, kind):
    put(file, table, column, 7 if kind == "TEXT" else "seven")
    assert damage(file) == f"table {table}, row 0: {column} is {7 if kind == 'TEXT' else 'seven'!r}"


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("begin_s", float("inf"), "inf"),
        ("begin_s", -1e300, "-1e.300"),
        ("step", 1.5, "1.5"),
        ("begin_s", b"\x00" * 100, r"b'\\x00"),
        ("step", "x" * 100_000, "'xxxxxxxx"),
    ],
)
def test_a_number_one_cannot_calculate_with_is_damage(file, put, column, value, shown):
    put(file, "steps", column, value)
    found = damage(file)
    assert re.match(rf"table steps, row 0: {column} is {shown}", found)
    assert len(found) < 90


def test_the_row_at_fault_is_named(file, change):
    change(file, "UPDATE steps SET call_s = 'long' WHERE step = 41")
    assert damage(file) == "table steps, row 41: call_s is 'long'"


@pytest.mark.parametrize(
    ("change_of", "shown"),
    [
        ("end_s = 2", "row 0: a step from 100 to 2 s"),
        ("end_s = begin_s", "row 0: a step from 100 to 100 s"),
        ("begin_s = 100.1, end_s = 100.2", "row 1: a step from 100.1 to 100.2 s"),
    ],
)
def test_steps_that_no_clock_could_have_seen_are_damage(file, change, change_of, shown):
    change(file, f"UPDATE steps SET {change_of}")
    assert damage(file) == f"table steps, {shown}, out of order"


@pytest.mark.parametrize(
    ("change_of", "span"),
    [
        ("end_s = begin_s", "from 108.2 to 108.2 s"),
        ("end_s = begin_s - 1", "from 108.2 to 107.2 s"),
        ("begin_s = begin_s - 1, end_s = end_s - 1", "from 107.2 to 107.395 s"),
    ],
)
def test_a_single_odd_step_is_left_out_with_a_note(file, change, change_of, span):
    change(file, f"UPDATE steps SET {change_of} WHERE step = 41")
    recording = read(file)
    steps = [row["step"] for row in recording.main.rows("steps")]
    assert steps == [step for step in range(60) if step != 41]
    assert recording.problems == [
        f"1 step was left out of the recording (table steps, row 41: a step {span}, out of order)."
    ]
    assert read(file.parent).problems == recording.problems


def test_a_step_that_was_written_twice_counts_once(file, change):
    """As quickfit 0.1.0 did at the end of `--steps` and `--for`."""
    change(file, "INSERT INTO steps SELECT * FROM steps WHERE step = 59")
    recording = read(file)
    assert len(recording.main.rows("steps")) == 60
    assert len(recording.problems) == 1


def test_a_recording_of_one_step_that_was_written_twice_is_read(file, change):
    change(file, "DELETE FROM steps WHERE step > 0")
    change(file, "INSERT INTO steps SELECT * FROM steps")
    assert len(read(file).main.rows("steps")) == 1


@pytest.mark.parametrize(("odd", "is_read"), [(3, True), (4, False)])
def test_few_odd_steps_are_left_out_and_many_are_damage(file, change, odd, is_read):
    change(file, f"UPDATE steps SET end_s = begin_s WHERE step < {odd}")
    if is_read:
        assert len(read(file).main.rows("steps")) == 57
        assert "3 steps were left out" in read(file).problems[0]
    else:
        assert damage(file) == "table steps, row 0: a step from 100 to 100 s, out of order"


def test_steps_of_two_loops_may_take_turns(file, change):
    change(file, "UPDATE steps SET loop = 2, begin_s = 1 + step, end_s = 2 + step WHERE step % 2")
    assert len(read(file).main.rows("steps")) == 60


def test_a_stack_that_was_never_seen_is_damage(file, change):
    change(file, "UPDATE samples SET seen = 0 WHERE rowid = 3")
    assert damage(file) == "table samples: a stack that was never seen"


def test_text_that_is_not_utf_8_is_damage(file, change):
    change(file, "UPDATE notes SET text = CAST(x'ff41' AS TEXT)")
    assert "UTF-8" in damage(file)


def test_a_column_whose_name_is_not_utf_8_is_damage(file):
    data = file.read_bytes()
    assert b"at_s REAL NOT NULL, text TEXT" in data
    file.write_bytes(
        data.replace(b"at_s REAL NOT NULL, text TEXT", b"at_s REAL NOT NULL, t\xffxt TEXT")
    )
    assert damage(file)


JSON_VALUES = ["", "{", "nonsense", "[" * 100_000]
WRONG_SHAPES = [
    ("loops", "facts", "[]"),
    ("loops", "facts", "null"),
    ("loops", "facts", '{"steps_per_execution": "two"}'),
    ("loops", "facts", '{"steps_per_execution": 0}'),
    ("loops", "facts", '{"compile_file": ["a"]}'),
    ("loops", "facts", '{"compile_line": "4"}'),
    ("datasets", "inputs", "5"),
    ("datasets", "inputs", '["a"]'),
    ("datasets", "inputs", "[1.5]"),
    ("datasets", "facts", "[1]"),
    ("datasets", "facts", '{"buffer_size": "big"}'),
    ("pipelines", "nodes", "5"),
    ("pipelines", "nodes", "[5]"),
    ("pipelines", "nodes", "[[1]]"),
    ("pipelines", "nodes", '[[1, "Root", "many", 0, 0, 0, null, null, 0, 0, false, []]]'),
    ("pipelines", "nodes", '[[1, "Root", 1, 1e999, 0, 0, null, null, 0, 0, false, []]]'),
    ("pipelines", "nodes", '[[1, "Root", 1, NaN, 0, 0, null, null, 0, 0, false, []]]'),
    ("pipelines", "nodes", '[[1, "Root", 1, 0, 0, 0, null, null, 0, 0, false, 3]]'),
    ("pipelines", "nodes", '[[1, "Root", 1, 0, 0, 0, "a", null, 0, 0, false, []]]'),
    ("traces", "arguments", "[]"),
    ("traces", "arguments", '{"args": {"x": 1}}'),
    ("traces", "arguments", '{"args": [["x", "tensor"]]}'),
    ("traces", "arguments", '{"args": [["x", "tensor", 7]]}'),
    ("traces", "arguments", '{"args": [], "products": [1]}'),
    ("traces", "arguments", '{"more": "many"}'),
    ("traces", "arguments", '{"jit": 1}'),
    ("traces", "arguments", '{"relaxed": "no"}'),
    ("traces", "arguments", '{"merged": 0}'),
    ("traces", "arguments", '{"merged": 1.5}'),
    ("stacks", "frames", '{"a": 1}'),
    ("stacks", "frames", '["a"]'),
    ("stacks", "frames", "[[1]]"),
    ("step_blocks", "sums", "[]"),
    ("step_blocks", "sums", '{"call_s": "long"}'),
    ("step_blocks", "histogram", '{"a": 1}'),
    ("step_blocks", "histogram", '{"1": 0.5}'),
]


@pytest.mark.parametrize("text", JSON_VALUES, ids=lambda text: text[:9])
@pytest.mark.parametrize(
    ("table", "column"), [("loops", "facts"), ("pipelines", "nodes"), ("stacks", "frames")]
)
def test_what_is_not_json_is_damage(file, put, table, column, text):
    put(file, table, column, text)
    assert damage(file) == f"table {table}: {column} is not JSON"


@pytest.mark.parametrize(("table", "column", "text"), WRONG_SHAPES)
def test_json_of_the_wrong_shape_is_damage(file, put, table, column, text):
    put(file, table, column, text)
    assert damage(file).startswith(f"table {table}: {column} is {text[:20]!r}"[:-1])


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("usable_cores", '"many"'),
        ("usable_cores", "0"),
        ("usable_cores", "-1"),
        ("usable_cores", "NaN"),
        ("argv", '{"a": 1}'),
        ("argv", "[1]"),
        ("started_s", '"early"'),
        ("tensorflow_devices", "5"),
        ("tensorflow_devices", '["GPU"]'),
        ("tensorflow_devices", '[["GPU"]]'),
        ("tensorflow_devices", "[[1, 2]]"),
        ("tensorflow_visible", "7"),
        ("machine_accelerators", '[{"a": 1}]'),
        ("cluster", '{"worker": []}'),
        ("ended_by", "[]"),
        ("ended_by", '{"line": "12"}'),
        ("ended_by", '{"message": ["a"]}'),
        ("tables", "[]"),
        ("tables", '{"steps": 5}'),
    ],
)
def test_a_fact_of_the_wrong_shape_is_damage(file, change, key, text):
    change(file, f"INSERT OR REPLACE INTO meta VALUES ('{key}', '{text}')")
    assert damage(file) == f"the fact {key!r} is {text!r}"


def test_a_fact_that_is_not_json_is_damage(file, change):
    change(file, "UPDATE meta SET value = '{' WHERE key = 'argv'")
    assert damage(file) == "the fact 'argv' is not JSON"


def test_facts_and_keys_that_nobody_knows_are_left_alone(file, change):
    change(
        file,
        "INSERT INTO meta VALUES ('new_fact', '{\"a\": [1]}')",
        "UPDATE meta SET value = 'null' WHERE key = 'argv'",
        'UPDATE loops SET facts = \'{"new": {"a": 1}, "compile_line": null}\'',
    )
    process = read_process(file)
    assert process.facts["new_fact"] == {"a": [1]}
    assert process.rows("loops")[0]["facts"]["new"] == {"a": 1}


# -- several processes ----------------------------------------------------------------------------


def test_a_main_process_that_cannot_be_read_points_to_the_other_one(run, file, record):
    other = record(run, role="descendant")
    file.write_bytes(gzip.compress(b"x"))
    assert message(run) == (
        f"{run}: the recording of process {file.stem} is not a quickfit file (found: gzip data).\n"
        "The other process of this run can be read. To report on it alone:\n"
        f"    quickfit report {other}"
    )
    assert read(other).main.path == other


def test_with_several_others_the_first_is_named(run, file, record, change):
    others = [record(run, role="descendant", started_s=200.0 - n) for n in range(3)]
    change(file, "DROP TABLE steps")
    assert message(run) == (
        f"{run}: the recording of process {file.stem} is damaged (it has no table steps).\n"
        "3 other processes of this run can be read. To report on one:\n"
        f"    quickfit report {others[-1]}"
    )


def test_of_two_unreadable_files_the_main_one_is_spoken_of(run, file, record):
    record(run, role="descendant")
    (run / "1.sqlite").write_text("text")
    file.write_bytes(b"\x89PNG\r\n\x1a\n")
    assert f"process {file.stem} is not a quickfit file (found: a PNG image)" in message(run)


def test_a_main_file_that_was_deleted_is_missed(run, file, record):
    other = record(run, role="descendant")
    file.unlink()
    assert message(run) == (
        f"{run}: the recording of the script itself is missing.\n"
        "The other process of this run can be read. To report on it alone:\n"
        f"    quickfit report {other}"
    )


def test_another_process_that_cannot_be_read_is_a_problem_and_no_failure(run, file, record):
    good = record(run, role="descendant")
    (run / "7.sqlite").write_text("text")
    recording = read(run)
    assert recording.main.path == file
    assert [process.path for process in recording.others] == [good]
    (problem,) = recording.problems
    assert problem.startswith(f"{run / '7.sqlite'}: the recording of process 7 is not a quickfit")


# -- anything at all ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mangle(tmp_path_factory):
    """A function that writes bytes to a file, always the same one, and returns its path."""
    file = tmp_path_factory.mktemp("fuzz") / "1.sqlite"

    def mangle(data: bytes, log: bytes | None = None) -> Path:
        for suffix in ("-wal", "-shm"):
            Path(f"{file}{suffix}").unlink(missing_ok=True)
        file.write_bytes(data)
        if log is not None:
            Path(f"{file}-wal").write_bytes(log)
        return file

    return mangle


@pytest.fixture(scope="module")
def samples(tmp_path_factory, record, tables):
    """The bytes of a sample run per kind of input."""
    folder = tmp_path_factory.mktemp("samples")
    kinds = ("tf.data", "generator", "pydataset")
    return {kind: record(folder, tables=tables(source=kind)).read_bytes() for kind in kinds}


def is_diagnosed(path: Path) -> bool:
    """Tell whether a run is read and diagnosed; no error but one of ours may come of it."""
    try:
        read(path)
    except RecordingError:
        return False
    try:
        diagnose(path)
    except QuickfitError:
        return False
    return True


# What so short a run, without a GPU, a log and readings of the clock, says nothing about.
NEEDS_MORE = {
    *("autotune-ram-growth", "host-ram-growth", "tensor-list-growth", "traced-graph-leak"),
    *("gpu-oom-fragmentation", "thermal-throttle", "labels-broadcast-in-loss"),
    *("gpu-shared", "gpu-throttled"),
    *("model-rebuilt-in-loop", "open-files-growth", "cache-too-big"),
}


@pytest.mark.parametrize("source", ["tf.data", "generator", "pydataset"])
def test_the_sample_run_is_diagnosed(mangle, samples, source):
    diagnosis = diagnose(mangle(samples[source]))
    assert diagnosis.breakdown is not None
    assert {one.cause for one in diagnosis.not_checked} <= NEEDS_MORE


@pytest.mark.parametrize("flips", [1, 4, 64])
def test_flipped_bytes_end_in_a_reading_or_an_error_of_ours(mangle, samples, flips):
    data = samples["tf.data"]
    numbers = random.Random(flips)
    outcomes = set()
    for _ in range(120):
        mangled = bytearray(data)
        for _ in range(flips):
            mangled[numbers.randrange(len(data))] = numbers.randrange(256)
        outcomes.add(is_diagnosed(mangle(mangled)))
    assert False in outcomes


def test_flipped_bytes_of_a_log_that_was_not_folded_in_are_survived(tmp_path, mangle):
    writer = Writer(tmp_path, {"role": "main"})
    writer.add("notes", (1.0, "x" * 5000))
    writer.flush()
    data, log = writer.path.read_bytes(), Path(f"{writer.path}-wal").read_bytes()
    writer.close()
    assert is_diagnosed(mangle(data, log))
    numbers = random.Random(9)
    for _ in range(60):
        mangled = bytearray(log)
        mangled[numbers.randrange(len(log))] ^= 1 << numbers.randrange(8)
        is_diagnosed(mangle(data, mangled[: numbers.randrange(len(log))]))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["input", "steps_per_execution", "buffer_size", "function", "1"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
).map(json.dumps)
nasty = (
    st.none()
    | st.integers(min_value=-(2**63), max_value=2**63 - 1)
    | st.sampled_from([0, 1, -1, 2, 0.0, 1e-300, -0.5, 1e18, float("inf"), 2.0**64])
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.binary(max_size=10)
    | json_values
)


@FUZZ
@given(
    place=st.sampled_from(every_column()),
    value=nasty,
    rows=st.sampled_from(["1", "rowid % 2", "rowid = 1"]),
    source=st.sampled_from(["tf.data", "generator", "pydataset"]),
)
def test_any_value_in_any_column_ends_in_a_reading_or_an_error_of_ours(
    mangle, samples, put, place, value, rows, source
):
    table, column, _ = place
    file = mangle(samples[source])
    put(file, table, column, value, rows=rows)
    is_diagnosed(file)

"""Writing a recording: what is on disk when, and what a failure leaves behind."""

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from quickfit.recording import shapes
from quickfit.recording import writer as writing
from quickfit.recording.reader import read, read_process
from quickfit.recording.schema import TABLES, columns
from quickfit.recording.writer import Writer


def step(number: int) -> tuple[object, ...]:
    return (1, 0, number, float(number), 0.5, None, 0.1, 0.1, number + 0.9, 0.4, None)


# Flushes once per line it is given, and says how many steps it has written. Closes now and then,
# as around a fork.
CHILD = """
import sys
from pathlib import Path
from quickfit.recording.writer import Writer
writer = Writer(Path(sys.argv[1]), {"role": "main", "argv": []})
flushed = 0
for line in sys.stdin:
    for number in range(20):
        times = (flushed, 0.5, None, 0.1, 0.1, flushed + 0.9, 0.4, None)
        writer.add_step((1, 0, flushed, *times))
        flushed += 1
    writer.add("notes", (1.0, "x" * 2000))
    writer.flush()
    if flushed % 200 == 0:
        writer.close()
    print(flushed, flush=True)
"""


@contextmanager
def writing_child(folder: Path):
    command = [sys.executable, "-c", CHILD, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def test_every_table_comes_back_as_it_was_written(tmp_path, record, tables):
    written = tables()
    process = read_process(record(tmp_path / "run.qfrun"))
    assert process.facts["ended_s"] == 120.5
    assert TABLES.keys() == written.keys()
    for table in TABLES.keys() - {"meta"}:
        names = [column.name for column in columns(table)]
        expected = [dict(zip(names, row, strict=True)) for row in written[table]]
        for row in expected:
            row.update({n: shapes.unpacked(row[n]) for n in names if (table, n) in shapes.SHAPES})
        assert sorted(process.rows(table), key=repr) == sorted(expected, key=repr), table


def test_rows_come_back_in_the_order_they_were_written(tmp_path):
    writer = Writer(tmp_path, {"role": "main"})
    for number in (5, 3, 9):
        writer.add("notes", (1.0, str(number)))
        writer.flush()
    writer.close()
    assert [row["text"] for row in read_process(writer.path).rows("notes")] == ["5", "3", "9"]


def test_a_row_with_the_same_key_replaces_the_earlier_one(tmp_path):
    writer = Writer(tmp_path, {"role": "main"})
    for calls in (1, 2):
        writer.add("overhead", ("step", 1.0, calls, 0.5))
        writer.flush()
    writer.close()
    assert [row["calls"] for row in read_process(writer.path).rows("overhead")] == [2]


def test_nothing_touches_the_disk_before_the_first_flush(tmp_path):
    writer = Writer(tmp_path, {"role": "main"})
    writer.add("notes", (1.0, "x"))
    writer.discard()
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_the_first_flush_makes_a_recording_without_a_row(tmp_path):
    writer = Writer(tmp_path, {"role": "main", "odd": Path("/x")})
    writer.flush()
    process = read_process(writer.path)
    assert process.is_main
    assert process.facts["odd"] == "/x"
    writer.close()


def test_what_was_flushed_can_be_read_before_it_is_closed(tmp_path):
    writer = Writer(tmp_path, {"role": "main"})
    writer.add_step(step(1))
    writer.flush()
    writer.add_step(step(2))
    assert len(read_process(writer.path).rows("steps")) == 1
    writer.close()
    assert len(read_process(writer.path).rows("steps")) == 2


def test_closing_leaves_one_file(tmp_path):
    writer = Writer(tmp_path, {"role": "main"})
    writer.flush()
    writer.close()
    assert [file.name for file in tmp_path.iterdir()] == [f"{os.getpid()}.sqlite"]


def test_a_closed_writer_opens_the_same_file_again(tmp_path):
    writer = Writer(tmp_path, {"role": "main"})
    for number in range(3):
        writer.add_step(step(number))
        writer.flush()
        writer.close()
    assert [file.name for file in tmp_path.glob("*.sqlite")] == [f"{os.getpid()}.sqlite"]
    assert len(read_process(writer.path).rows("steps")) == 3


def test_a_process_number_that_was_used_before_gets_another_file(tmp_path):
    files = []
    for number in range(3):
        writer = Writer(tmp_path, {"role": "main", "number": number})
        writer.flush()
        writer.close()
        files.append(writer.path)
    pid = os.getpid()
    assert [f.name for f in files] == [f"{pid}.sqlite", f"{pid}-1.sqlite", f"{pid}-2.sqlite"]
    assert [read_process(file).facts["number"] for file in files] == [0, 1, 2]


def test_a_thousand_files_of_one_process_are_an_error(tmp_path, monkeypatch):
    def taken(*args):
        raise FileExistsError(17, "File exists")

    monkeypatch.setattr(os, "open", taken)
    with pytest.raises(FileExistsError, match="a thousand recordings"):
        Writer(tmp_path, {}).flush()


# -- killed and growing ---------------------------------------------------------------------------


def test_what_was_flushed_survives_sigkill(tmp_path):
    with writing_child(tmp_path) as child:
        child.stdin.write("go\n" * 1000)
        for line in child.stdout:
            if int(line) >= 1500:
                break
        child.send_signal(signal.SIGKILL)
        told = [int(rest) for rest in child.stdout if rest.endswith("\n")]
        assert child.wait() == -signal.SIGKILL
    rows = read(tmp_path).main.rows("steps")
    assert len(rows) >= max([1500, *told])
    assert len(rows) % 20 == 0  # whole transactions only
    assert [row["step"] for row in rows] == list(range(len(rows)))


def test_a_growing_recording_is_read_many_times_and_only_grows(tmp_path):
    seen = []
    with writing_child(tmp_path) as child:
        child.stdin.write("go\n")
        assert child.stdout.readline() == "20\n"
        for _ in range(150):
            child.stdin.write("go\n")  # it writes, and opens and closes, while this one reads
            rows = read(tmp_path).main.rows("steps")
            assert len(rows) % 20 == 0
            seen.append(len(rows))
            child.stdout.readline()
    assert seen == sorted(seen)
    assert seen[-1] >= 150 * 20


# -- a disk that does not take it -----------------------------------------------------------------


def fill(writer: Writer, rows: int = 200) -> None:
    for _ in range(rows):
        writer.add("notes", (1.0, "x" * 1000))
    writer.flush()


def test_a_full_disk_leaves_what_was_written_before(tmp_path):
    writer = Writer(tmp_path, {"role": "main"})
    writer.add("notes", (1.0, "early"))
    writer.flush()
    pages = writer._db.execute("PRAGMA page_count").fetchone()[0]
    writer._db.execute(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        fill(writer)
    assert [row["text"] for row in read_process(writer.path).rows("notes")] == ["early"]
    writer._db.execute(f"PRAGMA max_page_count={pages + 2000}")
    fill(writer, 3)
    writer.close()
    # Nothing is lost when there is room again: a stack or a source is written only once.
    assert len(read_process(writer.path).rows("notes")) == 1 + 200 + 3


def test_a_full_file_system_leaves_what_was_written_before(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "none", str(disk)]
    if os.geteuid() != 0 or shutil.which("mount") is None or subprocess.run(mount).returncode:
        pytest.skip("mounting a small file system is not permitted here")
    try:
        writer = Writer(disk, {"role": "main"})
        writer.add("notes", (1.0, "early"))
        writer.flush()
        with pytest.raises((sqlite3.OperationalError, OSError), match=r"full|space|I/O"):
            fill(writer, 2000)
        assert [row["text"] for row in read(disk).main.rows("notes")] == ["early"]
        writer.discard()
        writer.close()
        assert [row["text"] for row in read(disk).main.rows("notes")] == ["early"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_the_tables_are_made_by_the_second_flush_if_the_first_one_failed(tmp_path, monkeypatch):
    def full(self, db):
        raise sqlite3.OperationalError("database or disk is full")

    writer = Writer(tmp_path, {"role": "main"})
    writer.add_step(step(1))
    with monkeypatch.context() as patch:
        patch.setattr(Writer, "_make_tables", full)
        with pytest.raises(sqlite3.OperationalError, match="full"):
            writer.flush()
    writer.flush()
    writer.close()
    assert len(list(tmp_path.glob("*.sqlite"))) == 1
    assert len(read_process(writer.path).rows("steps")) == 1


def test_a_folder_that_comes_back_is_written_to(tmp_path):
    writer = Writer(tmp_path / "gone", {"role": "main"})
    writer.add_step(step(1))
    with pytest.raises(FileNotFoundError):
        writer.flush()
    (tmp_path / "gone").mkdir()
    writer.flush()
    writer.close()
    assert len(read_process(writer.path).rows("steps")) == 1


def test_a_failed_flush_does_not_keep_the_file_open_and_loses_nothing(tmp_path, monkeypatch):
    def full(*args):
        raise sqlite3.OperationalError("database or disk is full")

    writer = Writer(tmp_path, {"role": "main"})
    writer.flush()
    for number in range(3):
        writer.add_step(step(number))
        writer.add("notes", (1.0, str(number)))
    with monkeypatch.context() as patch:
        patch.setattr(writing, "_insert", full)
        with pytest.raises(sqlite3.OperationalError, match="full"):
            writer.close()
    assert writer._db is None
    writer.add_step(step(3))
    writer.close()
    process = read_process(writer.path)
    assert [row["step"] for row in process.rows("steps")] == [0, 1, 2, 3]
    assert [row["text"] for row in process.rows("notes")] == ["0", "1", "2"]


def test_what_the_disk_does_not_take_can_be_dropped(tmp_path, monkeypatch):
    def full(*args):
        raise sqlite3.OperationalError("database or disk is full")

    writer = Writer(tmp_path, {"role": "main"})
    writer.flush()
    writer.add_step(step(1))
    with monkeypatch.context() as patch:
        patch.setattr(writing, "_insert", full)
        with pytest.raises(sqlite3.OperationalError, match="full"):
            writer.flush()
    writer.discard()
    writer.close()
    assert read_process(writer.path).rows("steps") == []


def test_nothing_waits_for_a_thread_that_writes_to_files_that_were_closed(tmp_path):
    writer = Writer(tmp_path, {"role": "main"})
    writer.flush()
    for number in writer._files:
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    writer.add_step(step(1))
    with writer._flushing:  # as the background thread has it, for as long as SQLite tries
        assert writer.has_lost_files
        with pytest.raises(OSError, match="closed quickfit's files"):
            writer.close()


# -- rows that do not fit -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row",
    [
        pytest.param((None, "no time"), id="a value is missing"),
        pytest.param((object(), "no number"), id="not a value of SQLite"),
        pytest.param((2**70, "too large"), id="too large"),
        pytest.param((1.0,), id="too short"),
    ],
)
def test_a_row_that_does_not_fit_does_not_take_the_others_with_it(tmp_path, row):
    writer = Writer(tmp_path, {"role": "main"})
    for number in range(2):
        for text in ("one", "two"):
            writer.add("notes", (1.0, text))
            writer.add("notes", row)
        writer.add_step(step(number))
        writer.flush()
    writer.close()
    process = read_process(writer.path)
    texts = [note["text"] for note in process.rows("notes")]
    told = [text for text in texts if text.startswith("rows of notes: ")]
    assert [text for text in texts if text not in told] == ["one", "two"] * 2
    assert len(told) == 1
    assert len(process.rows("steps")) == 2


def test_a_file_name_that_is_not_utf_8_is_written_in_the_same_way_everywhere(tmp_path):
    name = os.fsdecode(os.fsencode(tmp_path / "caf") + b"\xe9.py")
    Path(name).write_text("import this\n")
    writer = Writer(tmp_path, {"role": "main", "argv": [name]})
    writer.add("device_requests", ("/GPU:0", name, 3))
    writer.add_source(name)
    writer.flush()
    writer.close()
    process = read_process(writer.path)
    (source,) = process.rows("sources")
    assert source["file"] == process.rows("device_requests")[0]["file"]
    assert source["file"].endswith("caf?.py")
    assert source["text"] == "import this\n"


# -- sources --------------------------------------------------------------------------------------


def sources(folder: Path, *files: str) -> list[dict[str, object]]:
    writer = Writer(folder, {"role": "main"})
    for file in files:
        writer.add_source(file)
    writer.flush()
    writer.close()
    return read_process(writer.path).rows("sources")


def test_a_user_file_is_stored_once_as_it_was_first_seen(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("x = 'é'\n", encoding="utf-8")
    writer = Writer(tmp_path, {"role": "main"})
    writer.add_source(str(script))
    script.write_text("changed\n")
    writer.add_source(str(script))
    writer.flush()
    writer.close()
    (row,) = read_process(writer.path).rows("sources")
    assert row["text"] == "x = 'é'\n"
    assert row["sha256"] == hashlib.sha256("x = 'é'\n".encode()).hexdigest()


def test_a_large_file_is_known_by_its_hash_only(tmp_path):
    script = tmp_path / "train.py"
    script.write_bytes(b"#" * (writing.MAX_SOURCE_BYTES + 1))
    (row,) = sources(tmp_path, str(script))
    assert row["text"] == ""
    assert row["sha256"] == hashlib.sha256(script.read_bytes()).hexdigest()


def test_a_file_of_the_largest_size_is_stored(tmp_path):
    script = tmp_path / "train.py"
    script.write_bytes(b"#" * writing.MAX_SOURCE_BYTES)
    (row,) = sources(tmp_path, str(script))
    assert len(row["text"]) == writing.MAX_SOURCE_BYTES


def test_a_binary_file_is_stored_as_what_can_be_read_of_it(tmp_path):
    script = tmp_path / "train.pyc"
    script.write_bytes(b"\x00\xff\xfe a = 1 \x00")
    (row,) = sources(tmp_path, str(script))
    assert row["text"] == "\x00\ufffd\ufffd a = 1 \x00"


@pytest.mark.parametrize("file", ["/nowhere/train.py", "<stdin>", "<string>", "a\x00b", "/"])
def test_what_is_no_file_is_not_stored(tmp_path, file):
    assert sources(tmp_path, file) == []

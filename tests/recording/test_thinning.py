"""A long run stays a small file, and what is merged still adds up."""

import json
import math
import random
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.recording import thinning
from quickfit.recording.reader import read_process
from quickfit.recording.schema import TABLES, columns, create_sql
from quickfit.recording.writer import Writer


@pytest.fixture
def db():
    with closing(sqlite3.connect(":memory:")) as db:
        for table in TABLES:
            db.execute(create_sql(table))
        yield db


def step(number: int, duration_s: float, loop: int = 1) -> tuple[object, ...]:
    logs_s, begin_s = None if number % 3 else 0.25, 100.0 * number
    times = (begin_s, 0.5, logs_s, 0.125, 0.0625, begin_s + duration_s, 1.0, 0.03125)
    return (loop, 0, number, *times)


def insert(db: sqlite3.Connection, table: str, rows: list[tuple[object, ...]]) -> None:
    db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(columns(table)))})", rows)


def count(db: sqlite3.Connection, table: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def totals(db: sqlite3.Connection) -> tuple[int, dict[str, float], dict[int, int]]:
    """Return the steps, sums and histogram of all blocks together."""
    steps, sums, histogram = 0, dict.fromkeys(thinning._SUMS, 0.0), {}
    for number, sums_text, bins in db.execute("SELECT steps, sums, histogram FROM step_blocks"):
        steps += number
        for name, value in json.loads(sums_text).items():
            sums[name] = sums.get(name, 0.0) + value
        for index, seen in json.loads(bins).items():
            histogram[int(index)] = histogram.get(int(index), 0) + seen
    return steps, sums, histogram


# -- steps ----------------------------------------------------------------------------------------


def test_a_hundred_thousand_steps_stay_bounded_and_add_up(tmp_path):
    numbers = random.Random(1)
    durations = [numbers.lognormvariate(-2, 1) for _ in range(100_000)]
    writer = Writer(tmp_path, {"role": "main"})
    for number, duration_s in enumerate(durations):
        writer.add_step(step(number, duration_s))
        if number % 5000 == 4999:
            writer.flush()
    writer.close()
    process = read_process(writer.path)
    full, blocks = process.rows("steps"), process.rows("step_blocks")
    assert thinning.FULL_STEPS <= len(full) <= thinning.BOUNDS["steps"]
    assert len(blocks) <= thinning.BOUNDS["step_blocks"]
    assert [row["step"] for row in full] == list(range(100_000 - len(full), 100_000))
    thinned = 100_000 - len(full)
    assert sum(block["steps"] for block in blocks) == thinned
    # Every value is a sum of powers of two: exact, not nearly.
    assert sum(block["sums"]["call_s"] for block in blocks) == 0.5 * thinned
    assert sum(block["sums"]["callbacks_s"] for block in blocks) == 0.125 * thinned
    assert sum(block["sums"]["wait_s"] for block in blocks) == 0.03125 * thinned
    assert sum(b["sums"]["logs_s"] for b in blocks) == 0.25 * math.ceil(thinned / 3)
    assert sum(sum(block["histogram"].values()) for block in blocks) == thinned
    assert [b["first_step"] for b in blocks] == sorted(b["first_step"] for b in blocks)
    assert (blocks[0]["begin_s"], blocks[0]["first_step"]) == (0.0, 0)
    assert writer.path.stat().st_size < 8e6


def test_quantiles_of_the_histogram_are_within_nine_percent(db):
    numbers = random.Random(2)
    durations = [numbers.lognormvariate(-3, 1.5) for _ in range(30_000)]
    rows = [step(number, duration_s) for number, duration_s in enumerate(durations)]
    insert(db, "steps", rows)
    thinning.thin(db, "steps")
    thinning.thin(db, "step_blocks")
    steps, _, histogram = totals(db)
    exact = sorted(durations[:steps])
    for share in (0.01, 0.1, 0.5, 0.9, 0.99):
        left = share * steps
        for index in sorted(histogram):
            left -= histogram[index]
            if left <= 0:
                break
        assert thinning.seconds_of(index) == pytest.approx(exact[int(share * steps)], rel=0.09)


def test_blocks_do_not_cross_loops(db):
    rows = [step(number, 0.1, loop=number // 70) for number in range(thinning.FULL_STEPS + 350)]
    insert(db, "steps", rows)
    left = thinning.thin(db, "steps")
    blocks = db.execute("SELECT loop, first_step, steps FROM step_blocks").fetchall()
    assert left == thinning.FULL_STEPS
    assert blocks == [(loop, 70 * loop, 70) for loop in range(5)]


@pytest.mark.parametrize("steps", [0, 5, thinning.FULL_STEPS])
def test_steps_that_fit_are_not_thinned(db, steps):
    rows = [step(number, 0.1) for number in range(steps)]
    insert(db, "steps", rows)
    assert thinning.thin(db, "steps") == steps
    assert count(db, "step_blocks") == 0


def test_merging_keeps_every_sum_and_count_and_the_span(db):
    numbers = random.Random(3)
    for number in range(11):
        sums = {name: numbers.randrange(64) / 8 for name in thinning._SUMS}
        bins = {str(numbers.randrange(5)): numbers.randrange(1, 9) for _ in range(3)}
        row = (1 + number // 7, number * 100, 100, number, number + 0.9)
        db.execute(
            "INSERT INTO step_blocks VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*row, json.dumps(sums), json.dumps(bins)),
        )
    before = totals(db)
    assert thinning.thin(db, "step_blocks") == 6
    assert totals(db) == before
    spans = db.execute("SELECT loop, first_step, steps, begin_s, end_s FROM step_blocks").fetchall()
    assert spans == [
        (1, 0, 200, 0.0, 1.9),
        (1, 200, 200, 2.0, 3.9),
        (1, 400, 200, 4.0, 5.9),
        (1, 600, 100, 6.0, 6.9),
        (2, 700, 200, 7.0, 8.9),
        (2, 900, 200, 9.0, 10.9),
    ]


def test_ten_million_steps_are_a_small_file(tmp_path):
    sums = json.dumps(dict.fromkeys(thinning._SUMS, 0.5))
    bins = json.dumps({str(index): 10 for index in range(100, 110)})
    writer = Writer(tmp_path, {"role": "main"})
    for number in range(100_000):
        writer.add("step_blocks", (1, number * 100, 100, number, number + 1, sums, bins))
        if number % 1000 == 999:
            writer.flush()
    writer.close()
    blocks = read_process(writer.path).rows("step_blocks")
    assert len(blocks) <= thinning.BOUNDS["step_blocks"]
    assert sum(block["steps"] for block in blocks) == 10_000_000
    assert sum(sum(block["histogram"].values()) for block in blocks) == 10_000_000
    assert sum(block["sums"]["cpu_s"] for block in blocks) == 50_000
    assert writer.path.stat().st_size < 4e6


def test_blocks_of_steps_are_merged_too_however_many_steps_there_are(tmp_path, monkeypatch):
    for name, bound in (("steps", 400), ("step_blocks", 40)):
        monkeypatch.setitem(thinning.BOUNDS, name, bound)
    monkeypatch.setattr(thinning, "FULL_STEPS", 200)
    writer = Writer(tmp_path, {"role": "main"})
    for number in range(50_000):
        writer.add_step(step(number, 0.5))
        if number % 100 == 99:
            writer.flush()
    writer.close()
    process = read_process(writer.path)
    blocks = process.rows("step_blocks")
    assert len(blocks) <= 40
    assert sum(block["steps"] for block in blocks) == 50_000 - len(process.rows("steps"))


def test_loops_that_cannot_be_merged_are_not_tried_again_and_again(tmp_path, monkeypatch):
    tried = []
    thin = thinning.thin
    monkeypatch.setattr(thinning, "thin", lambda db, table: tried.append(1) or thin(db, table))
    monkeypatch.setitem(thinning.BOUNDS, "step_blocks", 100)
    writer = Writer(tmp_path, {"role": "main"})
    for number in range(1600):
        writer.add("step_blocks", (number, 0, 1, 0.0, 1.0, "{}", "{}"))
        writer.flush()
    writer.close()
    assert len(read_process(writer.path).rows("step_blocks")) == 1600
    assert len(tried) == 4  # at 101, 203, 407 and 815 rows


# -- the histogram --------------------------------------------------------------------------------


@given(st.floats(min_value=thinning.SMALLEST_S, max_value=1e7))
def test_a_bin_tells_a_duration_to_five_percent(seconds):
    assert thinning.seconds_of(thinning.bin_of(seconds)) == pytest.approx(seconds, rel=0.0443)


@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e-12, thinning.SMALLEST_S])
def test_nothing_is_below_the_first_bin(seconds):
    assert thinning.bin_of(seconds) == 0


# -- snapshots and samples ------------------------------------------------------------------------


# Two series of each table, and the columns that tell them apart.
SERIES = {
    "pipelines": ("iterator", lambda at_s, n: (n, at_s, 1, 0.5, 1, "[]")),
    "py_inputs": (
        "id",
        lambda at_s, n: (n, at_s, 1, "g", "n", None, None, 1, at_s, 0.0, 0.0, 0, None, None),
    ),
    "machine": ("1", lambda at_s, n: (at_s, *(0,) * (len(columns("machine")) - 1))),
    "thread_groups": ("name", lambda at_s, n: (f"group {n}", at_s, 1, at_s, None)),
    "objects": ("kind", lambda at_s, n: (at_s, f"kind {n}", at_s, None)),
    "holders": ("names", lambda at_s, n: (at_s, f'["{n}"]', "list", 1, at_s, None, "arrays")),
    "device_memory": ("device", lambda at_s, n: (f"GPU:{n}", at_s, at_s, None)),
    "gpus": ("gpu", lambda at_s, n: (n, at_s, *(None,) * (len(columns("gpus")) - 2))),
    "threads": ("name", lambda at_s, n: (at_s, n, f"thread {n}", "main", 1)),
    "raises": ("line", lambda at_s, n: (at_s, 0.2, "main", "E", "", "a.py", n, None, None, 1)),
    "tracing": ("name", lambda at_s, n: (at_s, f"f{n}", None, None, 0.0, at_s)),
    "allocations": ("file || line", lambda at_s, n: (at_s, "a.py", n, at_s, 1)),
}


def test_every_table_that_grows_with_time_has_a_bound():
    merged = {"steps", "step_blocks", "samples", "traces"}
    assert SERIES.keys() | merged == thinning.BOUNDS.keys()


@pytest.mark.parametrize("left", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("table", SERIES)
def test_snapshots_keep_the_first_and_the_last_of_each_series(db, table, left):
    key, row_of = SERIES[table]
    numbers = (1, 2) if table != "machine" else (1,)
    insert(db, table, [row_of(at_s, n) for at_s in range(left) for n in numbers])
    before = db.execute(f"SELECT {key}, * FROM {table} ORDER BY rowid").fetchall()
    number = thinning.thin(db, table)
    after = db.execute(f"SELECT {key}, * FROM {table} ORDER BY rowid").fetchall()
    assert number == len(after)
    assert set(after) <= set(before)
    for series in {row[0] for row in before}:
        old = [row for row in before if row[0] == series]
        new = [row for row in after if row[0] == series]
        assert (new[0], new[-1]) == (old[0], old[-1])
        assert len(new) == len(old) // 2 + 1


def test_a_long_run_has_bounded_snapshots_that_span_all_of_it(tmp_path):
    writer = Writer(tmp_path, {"role": "main"})
    for number in range(20_000):
        writer.add(
            "machine", (float(number), number * 0.5, *(None,) * (len(columns("machine")) - 2))
        )
        if number % 200 == 0:
            writer.flush()
    writer.close()
    rows = read_process(writer.path).rows("machine")
    assert len(rows) <= thinning.BOUNDS["machine"] + 200
    assert (rows[0]["at_s"], rows[-1]["at_s"]) == (0.0, 19_999.0)
    assert all(row["cpu_s"] == row["at_s"] * 0.5 for row in rows)


def test_samples_keep_the_count_of_every_stack_and_loop(tmp_path):
    numbers = random.Random(4)
    expected: dict[tuple[int, int | None], int] = {}
    writer = Writer(tmp_path, {"role": "main"})
    for number in range(90_000):
        stack, loop, seen = numbers.randrange(50), numbers.choice([None, 1, 2]), 1 + number % 4
        expected[stack, loop] = expected.get((stack, loop), 0) + seen
        writer.add("samples", (number / 20, stack, loop, seen))
        if number % 2000 == 0:
            writer.flush()
    writer.close()
    rows = read_process(writer.path).rows("samples")
    found: dict[tuple[int, int | None], int] = {}
    for row in rows:
        key = (row["stack"], row["loop"])
        found[key] = found.get(key, 0) + row["seen"]
    assert found == expected
    assert len(rows) <= thinning.BOUNDS["samples"] + 2000
    assert all(0 <= row["at_s"] <= 4500 for row in rows)


def test_samples_of_ever_new_loops_end_the_search_for_a_window(db, monkeypatch):
    monkeypatch.setitem(thinning.BOUNDS, "samples", 10)
    rows = [(float(number), 1, number, 1) for number in range(50)]
    db.executemany("INSERT INTO samples VALUES (?, ?, ?, ?)", rows)
    assert thinning.thin(db, "samples") == 50


# -- traces ---------------------------------------------------------------------------------------


def trace(number: int, *, name: str = "step", merged: int | None = None) -> tuple[object, ...]:
    told = (
        None
        if merged is None
        else json.dumps({"args": [["x", "t", str(number)]], "merged": merged})
    )
    return (float(number), 0.25, name, "a.py", 3, "a.py", 9, 10, None, 1, 0, 1, told)


def traces(db: sqlite3.Connection) -> list[tuple[float, str, float, int]]:
    """Return the rows as moment, name, seconds and of how many traces each tells."""
    rows = db.execute("SELECT at_s, name, duration_s, arguments FROM traces ORDER BY rowid")
    return [(*row[:3], json.loads(row[3] or "{}").get("merged", 1)) for row in rows]


def test_traces_of_the_same_code_are_merged_and_none_is_lost(db, monkeypatch):
    monkeypatch.setattr(thinning, "FULL_TRACES", 2)
    insert(db, "traces", [trace(number) for number in range(7)])
    assert thinning.thin(db, "traces") == 5
    assert traces(db) == [
        *((0.0, "step", 0.25, 1), (1.0, "step", 0.25, 1)),
        *((3.0, "step", 0.5, 2), (5.0, "step", 0.5, 2), (6.0, "step", 0.25, 1)),
    ]


def test_merged_traces_that_are_merged_again_count_all_of_them(db, monkeypatch):
    monkeypatch.setattr(thinning, "FULL_TRACES", 0)
    insert(db, "traces", [trace(number, merged=3) for number in range(3)])
    thinning.thin(db, "traces")
    thinning.thin(db, "traces")
    assert traces(db) == [(2.0, "step", 0.75, 9)]
    told = json.loads(db.execute("SELECT arguments FROM traces").fetchone()[0])
    assert told["args"] == [["x", "t", "2"]], "what the newest trace was given"


def test_traces_of_other_code_are_not_merged(db, monkeypatch):
    monkeypatch.setattr(thinning, "FULL_TRACES", 0)
    rows = [trace(number, name=f"step_{number}") for number in range(4)]
    insert(db, "traces", rows)
    assert thinning.thin(db, "traces") == 4
    assert [seen for *_, seen in traces(db)] == [1] * 4


def test_a_function_that_is_traced_in_every_step_stays_a_small_file(tmp_path):
    writer = Writer(tmp_path, {"role": "main"})
    for number in range(20_000):
        writer.add("traces", trace(number))
        if number % 500 == 499:
            writer.flush()
    writer.close()
    rows = read_process(writer.path).rows("traces")
    assert len(rows) <= thinning.BOUNDS["traces"] + 500
    assert sum((row["arguments"] or {}).get("merged", 1) for row in rows) == 20_000
    assert sum(row["duration_s"] for row in rows) == 5_000.0

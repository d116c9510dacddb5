"""What a real run records while nothing moves: a buffer that fills, a trace, a generator."""

from pathlib import Path

import pytest

from quickfit.recording import reader

from launch.sessions import newest_run, quickfit

pytestmark = [pytest.mark.tf, pytest.mark.tf_any]
SCRIPT = Path(__file__).parent / "scripts" / "silent.py"
LINES = SCRIPT.read_text().splitlines()


@pytest.fixture(scope="module")
def main(tmp_path_factory):
    """Return what the script's process recorded."""
    folder = tmp_path_factory.mktemp("silent")
    done = quickfit(folder, "run", str(SCRIPT))
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.split() == [b"8", b"over"]
    assert b"OP_REQUIRES" not in done.stderr
    return reader.read(newest_run(folder)).main


def text_at(line):
    return LINES[line - 1].strip()


def test_a_buffer_that_fills_before_the_first_batch_is_read_and_then_the_loops(main):
    first = main.rows("iterators")[0]
    assert (first["loop"], first["phase"]) == (1, "train")
    first_step_s = main.rows("loops")[0]["first_step_s"]
    filled = [
        node[8]
        for row in main.rows("pipelines")
        if row["iterator"] == first["id"] and row["at_s"] < first_step_s
        for node in row["nodes"]
        if node[1].startswith("Shuffle")
    ]
    assert filled == sorted(filled)
    assert len(filled) >= 2
    assert filled[-1] > filled[0] > 0


def test_a_trace_that_is_under_way_grows_at_the_line_that_is_unrolled(main):
    rows = [row for row in main.rows("tracing") if row["name"] == "unrolled"]
    assert len(rows) >= 2
    operations = [row["operations"] for row in rows]
    assert operations == sorted(operations)
    assert operations[-1] > operations[0] > 0
    assert {row["file"] for row in rows} == {str(SCRIPT)}
    at = {text_at(row["line"]) for row in rows}
    assert at & {"x = x + value  # traced", "for value in until(end_s):"}
    assert len({row["since_s"] for row in rows}) == 1
    assert rows[0]["since_s"] < rows[0]["at_s"]


def test_what_the_generator_swallows_is_told_with_both_lines(main):
    row = next(row for row in main.rows("raises") if row["name"] == "FileNotFoundError")
    assert row["role"] == "input"
    assert text_at(row["line"]).startswith('open("/no such folder/a.png")')
    assert text_at(row["caught_line"]) == "except OSError:  # caught"
    assert row["message"] == "[Errno 2] No such file or directory: '/no such folder/a.png'"
    assert row["count"] > 10


def test_the_thread_that_makes_the_input_has_a_number_of_the_system(main):
    rows = [row for row in main.rows("threads") if row["role"] == "input"]
    assert rows
    assert all(row["native_id"] for row in rows)
    roles = {row["id"]: row["role"] for row in main.rows("stacks")}
    assert {roles[row["stack"]] for row in rows} == {"input"}


def test_all_of_it_stays_within_the_budget(main):
    used_s = next(r["cpu_s"] for r in main.rows("overhead") if r["part"] == "background")
    lasted_s = main.facts["ended_s"] - main.facts["started_s"]
    assert used_s < 0.02 * lasted_s

"""What a line holds, by the innermost line of the user's code."""

import tracemalloc
from pathlib import Path

import pytest

import quickfit
from quickfit.probes import allocations
from quickfit.probes.allocations import by_line, user_line

SCRIPT = "/project/train.py"
LIBRARY = tracemalloc.__file__
OWN = str(Path(quickfit.__file__).parent / "probes" / "callbacks.py")


@pytest.fixture
def wanted(state, clock, monkeypatch):
    """A run with `--memory` that is training."""
    monkeypatch.setattr(allocations, "now", clock)
    monkeypatch.setattr(allocations, "has_begun", lambda state: True)
    monkeypatch.setattr(allocations._Wanted, "is_on", False)
    allocations.start()
    yield state
    tracemalloc.stop()


def test_the_innermost_user_line_is_found_below_libraries():
    assert user_line(((LIBRARY, 5), (LIBRARY, 9), (SCRIPT, 3), (SCRIPT, 20))) == (SCRIPT, 3)
    assert user_line(((LIBRARY, 5),)) is None


def test_what_quickfit_allocates_on_a_users_thread_is_not_the_users():
    assert user_line(((OWN, 5), (LIBRARY, 9), (SCRIPT, 3))) is None


def test_bytes_and_blocks_add_up_by_line():
    one, two = ((SCRIPT, 3),), ((LIBRARY, 1), (SCRIPT, 3))
    found = by_line([(0, 100, one, 1), (0, 50, two, 2), (0, 7, ((SCRIPT, 4),)), (0, 9, one, 1)])
    assert found == {(SCRIPT, 3): [159, 3], (SCRIPT, 4): [7, 1]}


def test_a_run_that_did_not_ask_is_not_traced(state, monkeypatch):
    monkeypatch.setattr(allocations._Wanted, "is_on", False)
    monkeypatch.setattr(allocations, "has_begun", lambda state: True)
    allocations.write(state)
    assert not tracemalloc.is_tracing()


def test_nothing_is_traced_before_training(wanted, monkeypatch):
    monkeypatch.setattr(allocations, "has_begun", lambda state: False)
    allocations.write(wanted)
    assert not tracemalloc.is_tracing()


def test_a_line_that_keeps_memory_is_recorded_from_then_on(wanted, clock):
    allocations.write(wanted)
    assert tracemalloc.get_traceback_limit() == allocations.FRAMES
    kept = [bytes(100_000) for _ in range(3)]
    clock.now_s += 10
    allocations.write(wanted)
    kept.clear()
    clock.now_s += 10
    allocations.write(wanted)
    line = test_a_line_that_keeps_memory_is_recorded_from_then_on.__code__.co_firstlineno + 3
    rows = [row for row in wanted.writer.rows("allocations") if row[2] == line]
    assert {row[1] for row in rows} == {__file__}
    assert [row[0] for row in rows] == [110.0, 120.0]
    assert rows[0][3] == pytest.approx(300_099, abs=200)
    assert rows[1][3] < 1000
    assert __file__ in wanted.writer.sources


def test_a_script_that_traces_itself_keeps_its_setting(wanted, clock):
    tracemalloc.start(3)
    allocations.write(wanted)
    assert tracemalloc.get_traceback_limit() == 3
    tracemalloc.stop()
    clock.now_s += 10
    allocations.write(wanted)
    assert not tracemalloc.is_tracing()
    assert wanted.writer.rows("allocations") == []


def test_the_number_of_lines_is_bounded(wanted, monkeypatch):
    monkeypatch.setattr(allocations, "MAX_LINES", 2)
    lines = {(SCRIPT, line): [allocations.MIN_BYTES * line, 1] for line in range(1, 9)}
    allocations._write_lines(wanted, lines)
    allocations._write_lines(wanted, lines)
    assert {row[2] for row in wanted.writer.rows("allocations")} == {7, 8}

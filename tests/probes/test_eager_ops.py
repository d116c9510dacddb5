"""The operations of an eager loop are timed for a moment; everything is put back."""

import sys
import traceback
from threading import Thread, get_ident
from types import SimpleNamespace

import pytest

from quickfit.probes import _hooks, eager_ops
from quickfit.probes._state import Loop
from quickfit.recording.schema import columns

NAMES = [column.name for column in columns("eager_ops")]


@pytest.fixture
def tfe(monkeypatch, clock):
    """Return the module operations are started through; each takes as long as it is told."""

    def execute(takes_s):
        clock.now_s += takes_s
        return takes_s

    module = SimpleNamespace(TFE_Py_FastPathExecute=execute, TFE_Py_Execute=execute)
    monkeypatch.setitem(sys.modules, "tensorflow.python.pywrap_tfe", module)
    monkeypatch.setattr(eager_ops, "now", clock)
    monkeypatch.setattr(_hooks, "now", clock)
    module.original = execute
    return module


@pytest.fixture
def loop(state):
    """Return an eager loop that is warm."""
    made = Loop(5, "fit", None, 0.0, 0.0, get_ident(), {"run_eagerly": True}, steps=8)
    state.loops = [made]
    return made


def is_open(tfe):
    return tfe.TFE_Py_FastPathExecute is not tfe.original


def test_operations_are_counted_and_timed(state, tfe, loop):
    eager_ops.read(state)
    for takes_s in (0.1, 0.1, 0.1, 0.5):
        assert tfe.TFE_Py_FastPathExecute(takes_s) == takes_s
    loop.steps += 2
    eager_ops.read(state)
    (row,) = state.writer.rows("eager_ops")
    seen = dict(zip(NAMES, row, strict=True))
    assert (seen["loop"], seen["steps"], seen["ops"]) == (5, 2, 4)
    assert seen["window_s"] == pytest.approx(0.8)
    assert seen["ops_s"] == pytest.approx(0.8)
    assert seen["median_s"] == pytest.approx(0.1)
    assert seen["heavy_s"] == pytest.approx(0.0), "none is beyond what three quarters stay below"
    assert not is_open(tfe)
    assert tfe.TFE_Py_Execute is tfe.original


def test_operations_of_other_threads_are_not_the_loops(state, tfe, loop):
    eager_ops.read(state)
    thread = Thread(target=tfe.TFE_Py_Execute, args=[0.1])
    thread.start()
    thread.join()
    assert len(state.kept["eager_window"].stamps) == 0


def test_a_loop_is_looked_at_once(state, tfe, loop, clock):
    eager_ops.read(state)
    tfe.TFE_Py_Execute(0.3)
    tfe.TFE_Py_Execute(0.3)
    loop.steps += 5
    eager_ops.read(state)
    eager_ops.read(state)
    assert not is_open(tfe)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"facts": {}}, "a compiled loop"),
        ({"steps": 7}, "the first steps"),
        ({"is_over": True}, "a loop that has ended"),
    ],
)
def test_nothing_is_timed_in(state, tfe, loop, changes, why):
    for name, value in changes.items():
        setattr(loop, name, value)
    eager_ops.read(state)
    assert not is_open(tfe), why


@pytest.mark.parametrize("fact", ["functions_run_eagerly", "eager_loop"])
def test_functions_and_loops_that_run_eagerly_count_as_eager(state, tfe, loop, fact):
    loop.facts = {"run_eagerly": False, fact: True}
    eager_ops.read(state)
    assert is_open(tfe)


def test_a_look_is_ended_at_once_before_a_fork(state, tfe, loop):
    eager_ops.read(state)
    assert is_open(tfe)
    eager_ops.put_back(state)
    assert not is_open(tfe)
    eager_ops.put_back(state)
    assert state.writer.rows("eager_ops") == [], "no step was seen"


@pytest.mark.parametrize(
    ("elapsed_s", "steps", "is_over", "closes"),
    [
        (0.3, 50, False, False),
        (1.0, 1, False, False),
        (1.0, 2, False, True),
        (5.0, 0, False, True),
        (0.0, 0, True, True),
    ],
    ids=["too short", "too few steps", "enough", "a very slow step", "the loop has ended"],
)
def test_a_window_closes_when_it_has_seen_enough(
    state, tfe, loop, clock, elapsed_s, steps, is_over, closes
):
    eager_ops.read(state)
    clock.now_s += elapsed_s
    loop.steps += steps
    loop.is_over = is_over
    eager_ops.read(state)
    assert is_open(tfe) != closes


def test_a_version_without_these_entrances_is_left_alone(state, loop, monkeypatch):
    module = SimpleNamespace(TFE_Py_Execute=len)
    monkeypatch.setitem(sys.modules, "tensorflow.python.pywrap_tfe", module)
    eager_ops.read(state)
    assert module.TFE_Py_Execute is len
    assert state.writer.rows("eager_ops") == []


def test_a_failing_operation_raises_its_own_error(state, tfe, loop):
    def fails(*args):
        raise ValueError("mine")

    tfe.TFE_Py_Execute = fails
    eager_ops.read(state)
    with pytest.raises(ValueError, match="mine") as caught:
        tfe.TFE_Py_Execute(1)
    files = {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}
    assert files == {__file__}
    assert len(state.kept["eager_window"].stamps) == 2, "it took its time all the same"


def test_memory_is_bounded(state, tfe, loop, monkeypatch):
    monkeypatch.setattr(eager_ops, "MAX_OPERATIONS", 10)
    eager_ops.read(state)
    window = state.kept["eager_window"]
    for _ in range(100):
        tfe.TFE_Py_Execute(0.0)
    assert len(window.stamps) == 20


def test_what_the_script_put_in_its_place_meanwhile_is_not_lost(state, tfe, loop, clock):
    eager_ops.read(state)
    theirs = tfe.TFE_Py_Execute = lambda takes_s: takes_s
    clock.now_s += 1.0
    loop.steps += 10
    eager_ops.read(state)
    assert tfe.TFE_Py_Execute is theirs
    assert not is_open(tfe)

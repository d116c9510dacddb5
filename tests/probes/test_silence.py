"""A run in which nothing moves is noticed, and where its threads stand is recorded."""

import json
import threading

import pytest

from probes.stand_ins import Frame
from quickfit.probes import _thread_calls, silence, stacks
from quickfit.probes._state import Loop
from quickfit.probes.py_input import PyInput
from quickfit.probes.silence import Silence
from quickfit.probes.stacks import StackSampler

MAIN = threading.main_thread().ident
LIBRARY = threading.__file__
TRAIN = ("/home/me/train.py", 12, "main")
FIT = (LIBRARY, 320, "fit")
DECODE = ("/home/me/data.py", 7, "decode")
PY_FUNC = ("/x/site-packages/tensorflow/python/ops/script_ops.py", 9, "__call__")


@pytest.fixture
def quiet(state, clock, monkeypatch):
    """Return the silence of a run with a loop, a Python input and a thread that calls."""
    for module in (silence, stacks):
        monkeypatch.setattr(module, "now", clock)
    monkeypatch.setattr(_thread_calls, "threads", {1: _thread_calls.ThreadCalls()})
    monkeypatch.setattr(silence, "native_ids", lambda: {MAIN: 4711})
    monkeypatch.delenv("TF_CONFIG", raising=False)
    loop = Loop(1, "fit", None, 0.0, 0.0, MAIN, {})
    state.loops, state.loop_of_thread = [loop], {MAIN: loop}
    state.py_inputs = [PyInput(1, "generator", "batches", None, 1)]
    return Silence(state)


def listen(quiet, clock, seconds):
    """Let so much time pass."""
    for _ in range(round(seconds / 0.05)):
        clock.now_s += 0.05
        quiet.tick(clock())


@pytest.fixture
def sampler(state, monkeypatch):
    """Return a sampler that sees what `see` is told."""
    made = StackSampler(state)
    made.own_thread = 1
    made.see = lambda threads: monkeypatch.setattr(stacks, "all_frames", lambda: threads)
    return made


# -- whether it moves -----------------------------------------------------------------------------


def test_nothing_for_three_seconds_is_silence_since_the_last_move(quiet, clock, state):
    listen(quiet, clock, 1.0)
    state.loops[0].steps += 1
    listen(quiet, clock, 2.9)
    assert not quiet.is_silent
    listen(quiet, clock, 0.2)
    assert quiet.is_silent
    assert quiet.since_s == pytest.approx(101.05)
    assert quiet.where is state.loops[0]


MOVES = {
    "a step": lambda state: setattr(state.loops[0], "steps", 1),
    "an epoch": lambda state: setattr(state.loops[0], "epoch", 1),
    "a loop": lambda state: state.new_id("loop"),
    "a trace": lambda state: state.new_id("trace"),
    "a batch of a generator": lambda state: setattr(state.py_inputs[0], "batches", 1),
    "a batch of validation": lambda state: setattr(state, "looked", 1),
    "a call": lambda state: setattr(_thread_calls.threads[1], "calls", 1),
}


@pytest.mark.parametrize("move", MOVES)
def test_it_is_over_with(quiet, clock, state, move):
    listen(quiet, clock, 5.0)
    assert quiet.is_silent
    MOVES[move](state)
    listen(quiet, clock, 0.05)
    assert not quiet.is_silent
    assert quiet.where is None
    assert quiet.since_s == clock()


def test_what_the_probes_do_themselves_is_no_move(quiet, clock, state):
    listen(quiet, clock, 2.0)
    state.new_id("dataset")
    listen(quiet, clock, 2.0)
    assert quiet.is_silent


def test_a_script_without_any_loop_is_silent_from_its_start(state, clock, monkeypatch):
    monkeypatch.setattr(silence, "now", clock)
    quiet = Silence(state)
    listen(quiet, clock, 3.1)
    assert quiet.is_silent
    assert quiet.where is None


# -- where its threads are ------------------------------------------------------------------------


def test_every_thread_but_our_own_is_recorded_with_its_stack(quiet, sampler, state):
    sampler.see(
        {
            1: Frame(("/home/me/quickfit.py", 1, "own thread")),
            MAIN: Frame(FIT, TRAIN),
            901: Frame(DECODE, PY_FUNC),
            902: Frame((LIBRARY, 8, "wait")),
        }
    )
    quiet.write(sampler)
    names = {row[0]: row[3] for row in state.writer.rows("frames")}
    innermost = {row[0]: names[json.loads(row[2])[0]] for row in state.writer.rows("stacks")}
    rows = state.writer.rows("threads")
    assert [(*row[:4], innermost[row[4]]) for row in rows] == [
        (100.0, 4711, "MainThread", "main", "fit"),
        (100.0, None, "", "input", "decode"),
        (100.0, None, "", "other", "wait"),
    ]


def test_the_stacks_are_those_of_the_samples(quiet, sampler, state):
    sampler.see({MAIN: Frame(FIT, TRAIN)})
    sampler.sample()
    sampler.write()
    quiet.write(sampler)
    assert len(state.writer.rows("stacks")) == 1
    assert state.writer.rows("threads")[0][4] == state.writer.rows("samples")[0][1]


def test_a_thread_is_recorded_again_when_it_moves_and_every_ten_seconds(
    quiet, sampler, state, clock
):
    for second in range(25):
        clock.now_s = 100.0 + second
        line = 5 if second < 3 else 6
        sampler.see({MAIN: Frame((LIBRARY, line, "wait"), TRAIN), 902: Frame((LIBRARY, 8, "w"))})
        quiet.write(sampler)
    rows = state.writer.rows("threads")
    assert [row[0] for row in rows if row[3] == "main"] == [100.0, 103.0, 113.0, 123.0]
    assert [row[0] for row in rows if row[3] == "other"] == [100.0, 110.0, 120.0]


def test_a_thread_that_is_where_it_was_is_still(quiet, sampler):
    sampler.see({MAIN: Frame(TRAIN), 902: Frame(FIT)})
    assert [one.is_still for one in quiet.write(sampler)] == [False, False]
    sampler.see({MAIN: Frame(TRAIN), 902: Frame(TRAIN), 903: Frame(TRAIN)})
    assert [one.is_still for one in quiet.write(sampler)] == [True, False, False]


def test_a_script_with_thousands_of_threads_has_some_recorded(quiet, sampler, state):
    sampler.see({number: Frame(TRAIN) for number in range(10, 5000)})
    quiet.write(sampler)
    assert len(state.writer.rows("threads")) == silence.MAX_THREADS


def test_the_systems_numbers_of_real_threads_are_recorded(state):
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name="reader")
    thread.start()
    Silence(state).write(StackSampler(state))
    over.set()
    thread.join()
    found = {row[2]: row[1] for row in state.writer.rows("threads")}
    assert found["reader"] == thread.native_id
    assert found["MainThread"] == threading.main_thread().native_id


# -- the cluster ----------------------------------------------------------------------------------


def test_a_cluster_that_the_script_sets_up_itself_is_recorded_once(quiet, state, monkeypatch):
    quiet.tick(1.0)
    assert state.writer.rows("meta") == []
    for told in ('{"cluster": 1}', '{"cluster": 1}', "x" * 10_000):
        monkeypatch.setenv("TF_CONFIG", told)
        quiet.tick(2.0)
    assert [(key, json.loads(value)) for key, value in state.writer.rows("meta")] == [
        ("cluster", '{"cluster": 1}'),
        ("cluster", "x" * silence.MAX_CLUSTER),
    ]

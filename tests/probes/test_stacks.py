"""Stacks are counted by what they are: the main thread, input, or other threads with user code."""

import gc
import subprocess
import sys
import threading

import pytest

from probes.stand_ins import Frame
from quickfit.probes import stacks
from quickfit.probes._state import Loop
from quickfit.probes.stacks import StackSampler, all_frames

MAIN = threading.main_thread().ident
LIBRARY = threading.__file__
TRAIN = ("/home/me/train.py", 12, "main")
FIT = (LIBRARY, 320, "fit")
DECODE = ("/home/me/data.py", 7, "decode")
PY_FUNC = ("/x/site-packages/tensorflow/python/ops/script_ops.py", 9, "__call__")


@pytest.fixture
def sampler(state, monkeypatch):
    """Return a sampler, and let `sampler.see` set what it sees."""
    made = StackSampler(state)
    made.own_thread = 1
    monkeypatch.setattr(stacks, "now", lambda: 5.0)

    def see(threads):
        monkeypatch.setattr(stacks, "all_frames", lambda: threads)
        made.sample()

    made.see = see
    return made


def written(state):
    """Return {(role, loop, innermost function): seen}."""
    names = {row[0]: row[3] for row in state.writer.rows("frames")}
    kinds = {row[0]: (row[1], names[eval(row[2])[0]]) for row in state.writer.rows("stacks")}
    return {
        (kinds[stack][0], loop, kinds[stack][1]): seen
        for _, stack, loop, seen in state.writer.rows("samples")
    }


def test_a_stack_seen_twice_is_counted_twice(sampler, state):
    for _ in range(2):
        sampler.see({MAIN: Frame(FIT, TRAIN)})
    sampler.write()
    assert written(state) == {("main", None, "fit"): 2}
    assert state.writer.rows("frames") == [
        (1, LIBRARY, 320, "fit", 0),
        (2, *TRAIN, 1),
    ]
    assert state.writer.sources == [TRAIN[0]]


def test_each_thread_has_its_role(sampler, state):
    loop = Loop(4, "fit", None, 0.0, 0.0, 900, {})
    state.loops, state.loop_of_thread = [loop], {900: loop}
    sampler.see(
        {
            1: Frame(("/home/me/quickfit.py", 1, "own thread")),
            MAIN: Frame((LIBRARY, 5, "join"), TRAIN),
            900: Frame(FIT, TRAIN),
            901: Frame(DECODE, PY_FUNC),
            902: Frame((LIBRARY, 8, "wait")),
            903: Frame((LIBRARY, 8, "sleep"), ("/home/me/log.py", 3, "ship")),
        }
    )
    sampler.write()
    assert written(state) == {
        ("main", 4, "join"): 1,
        ("main", 4, "fit"): 1,
        ("input", 4, "decode"): 1,
        ("other", 4, "sleep"): 1,
    }


def test_what_was_written_is_not_written_again(sampler, state):
    sampler.see({MAIN: Frame(TRAIN)})
    sampler.write()
    sampler.write()
    sampler.see({MAIN: Frame(TRAIN)})
    sampler.write()
    assert [row[1:] for row in state.writer.rows("samples")] == [(1, None, 1), (1, None, 1)]
    assert len(state.writer.rows("stacks")) == len(state.writer.rows("frames")) == 1


def test_very_deep_stacks_are_cut(sampler, state):
    sampler.see({MAIN: Frame(*[(f"/home/me/f{n}.py", n, "f") for n in range(300)])})
    sampler.write()
    assert len(state.writer.rows("frames")) == stacks.MAX_DEPTH


def test_too_many_different_stacks_are_counted_under_the_users_line(sampler, state, monkeypatch):
    monkeypatch.setattr(stacks, "MAX_STACKS", 2)
    for line in range(10):
        sampler.see({MAIN: Frame((LIBRARY, line, "deep"), TRAIN)})
    sampler.write()
    assert len(state.writer.rows("stacks")) == 3
    assert sum(row[3] for row in state.writer.rows("samples")) == 10


def test_a_frame_without_a_line_has_that_of_its_function(sampler, state):
    frame = Frame(TRAIN)
    frame.f_lineno = None
    sampler.see({MAIN: frame})
    sampler.write()
    assert state.writer.rows("frames") == [(1, TRAIN[0], 1, "main", 1)]


DEADLOCK = """
import _thread, faulthandler, gc, os, sys, threading, time
from quickfit.probes.stacks import all_frames

class Garbage:
    def __init__(self):
        self.me = self
    def __del__(self):
        time.sleep(0.001)  # gives up Python's lock in the middle of a collection

def births():
    while True:
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()

faulthandler.dump_traceback_later(30, exit=True)
for _ in range(3):
    _thread.start_new_thread(births, ())
for _ in range(200):
    gc.set_threshold(10**9)
    for _ in range(3):
        Garbage()
    gc.set_threshold(max(gc.get_count()[0] - 1, 1), 10, 10)  # the next object starts a collection
    all_frames()
os._exit(0 if gc.isenabled() else 1)
"""


def test_looking_at_stacks_never_hangs_a_script_that_collects_and_starts_threads():
    done = subprocess.run(
        [sys.executable, "-c", DEADLOCK], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_collector_that_the_script_turned_off_stays_off():
    gc.disable()
    try:
        assert all_frames()
        assert not gc.isenabled()
    finally:
        gc.enable()

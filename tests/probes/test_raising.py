"""A silent run is looked at rarely, and only where the user's code runs."""

import os
import sys
import threading

import pytest

from quickfit.probes import raising
from quickfit.probes._catching import Watch
from quickfit.probes._caught import MAX_CAUGHT, Kind, Look
from quickfit.probes.raising import Raising
from quickfit.probes.stacks import Standing

LIBRARY = threading.__file__
TRAIN = ("/home/me/train.py", 12, "main")
READ = ("/home/me/data.py", 7, "read")
DECODE = ("/x/site-packages/PIL/Image.py", 99, "open")
EXECUTE = ("/x/site-packages/tensorflow/python/eager/execute.py", 53, "quick_execute")
FIT = ("/x/site-packages/keras/src/trainers/trainer.py", 320, "fit")
TRACE = ("/x/site-packages/tensorflow/python/framework/func_graph.py", 9, "func_graph_from_py_func")
IMPORT = ("<frozen importlib._bootstrap>", 1, "_find_and_load")


@pytest.fixture
def looked_at(state, clock, monkeypatch):
    """Return a `Raising` whose looks are only noted, as (time, thread)."""
    made, looks = Raising(state), []
    monkeypatch.setattr(raising, "now", clock)
    monkeypatch.setattr(made, "_look_at", lambda thread, _: looks.append((clock(), thread.ident)))
    made.looks_made = looks
    return made


def ask(looker, clock, threads, until_s, since_s=100.0):
    """Ask twice a second whether to look."""
    while clock.now_s < until_s:
        looker.look(threads, since_s, lambda _: False)
        clock.now_s += 0.5


# -- when -----------------------------------------------------------------------------------------


def test_the_first_look_is_after_four_seconds_and_then_one_every_fifteen(looked_at, clock):
    ask(looked_at, clock, [Standing(1, "main", (READ, TRAIN))], 140.0)
    assert [at_s for at_s, _ in looked_at.looks_made] == [104.0, 119.0, 134.0]


def test_a_silence_is_looked_at_twenty_times_at_most_and_the_next_one_again(looked_at, clock):
    ask(looked_at, clock, [Standing(1, "main", (TRAIN,))], 100.0 + 1000)
    assert len(looked_at.looks_made) == raising.MAX_LOOKS
    ask(looked_at, clock, [Standing(1, "main", (TRAIN,))], 1110.0, since_s=1100.0)
    assert looked_at.looks_made[-1] == (1104.0, 1)


def test_many_short_silences_are_looked_at_every_fifteen_seconds_at_most(looked_at, clock):
    for begin_s in range(100, 160, 6):
        ask(looked_at, clock, [Standing(1, "main", (TRAIN,))], begin_s + 6.0, since_s=begin_s)
    assert [at_s for at_s, _ in looked_at.looks_made] == [104.0, 122.0, 140.0, 158.0]


def test_several_threads_are_looked_at_in_turn(looked_at, clock):
    threads = [Standing(number, "input", (READ,)) for number in (7, 8)]
    ask(looked_at, clock, threads, 150.0)
    assert [thread for _, thread in looked_at.looks_made] == [7, 8, 7, 8]


def test_threads_that_move_are_looked_at_rather_than_those_that_stand_still(looked_at, clock):
    threads = [Standing(number, "input", (READ,), number != 9) for number in (7, 8, 9)]
    ask(looked_at, clock, threads, 125.0)
    assert [thread for _, thread in looked_at.looks_made] == [9, 9]


@pytest.mark.parametrize("frame", [IMPORT, TRACE], ids=["an import", "a trace"])
def test_a_look_comes_four_seconds_after_the_end_of(looked_at, clock, frame):
    ask(looked_at, clock, [Standing(1, "main", (("/x/a.py", 1, "f"), frame, TRAIN))], 130.0)
    assert looked_at.looks_made == []
    ask(looked_at, clock, [Standing(1, "main", (READ, FIT, TRAIN))], 140.0)
    assert looked_at.looks_made == [(133.5, 1)]


# -- which thread ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "key", "is_still"),
    [
        pytest.param("main", (READ, FIT, TRAIN), False, id="a generator that Keras peeks at"),
        pytest.param("main", (READ, FIT, TRAIN), True, id="one that sleeps"),
        pytest.param("input", (DECODE, READ), False, id="a library that a generator calls"),
        pytest.param("input", (EXECUTE, READ), False, id="TensorFlow, called again and again"),
        pytest.param("main", (TRAIN,), True, id="the script itself"),
    ],
)
def test_a_thread_that_runs_the_users_code_is_looked_at(looked_at, clock, role, key, is_still):
    ask(looked_at, clock, [Standing(3, role, key, is_still)], 110.0)
    assert looked_at.looks_made == [(104.0, 3)]


@pytest.mark.parametrize(
    ("role", "key", "is_still"),
    [
        pytest.param("main", (EXECUTE, FIT, TRAIN), True, id="waits for TensorFlow"),
        pytest.param("main", ((LIBRARY, 8, "wait"), FIT, TRAIN), True, id="waits for workers"),
        pytest.param("main", (EXECUTE, TRACE, FIT, TRAIN), False, id="traces"),
        pytest.param("main", (("/x/a.py", 1, "f"), IMPORT, TRAIN), False, id="imports"),
        pytest.param("other", (READ,), False, id="neither trains nor makes input"),
        pytest.param("input", ((LIBRARY, 8, "wait"),), False, id="no code of the user's"),
        pytest.param("main", (), False, id="no stack"),
    ],
)
def test_other_threads_are_left_alone(looked_at, clock, role, key, is_still):
    ask(looked_at, clock, [Standing(3, role, key, is_still)], 110.0)
    assert looked_at.looks_made == []


# -- a real look ----------------------------------------------------------------------------------


class Swallower:
    """A thread that opens a file that is not there, again and again."""

    def __init__(self):
        self.is_over = False
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.is_over = True
        self.thread.join()

    def run(self):
        while not self.is_over:
            try:
                os.stat("/no such folder/a.png")
            except OSError:
                continue

    def standing(self):
        return Standing(self.thread.ident, "input", (READ,))


def until(is_true):
    def wait(_):
        threading.Event().wait(0.005)
        return is_true()

    return wait


def test_a_look_records_what_was_caught_how_often_and_where(state):
    with Swallower() as swallower:
        Raising(state).look([swallower.standing()], 0.0, until(lambda: False))
    (row,) = state.writer.rows("raises")
    at_s, window_s, role, name, message, file, line, caught_file, caught_line, count = row
    first = Swallower.run.__code__.co_firstlineno
    assert (role, name, file, caught_file) == ("input", "FileNotFoundError", __file__, __file__)
    assert message == "[Errno 2] No such file or directory: '/no such folder/a.png'"
    assert (line, caught_line) == (first + 3, first + 4)
    assert 0 < count <= MAX_CAUGHT
    assert 0 < window_s < at_s
    assert set(state.writer.sources) == {__file__}


def test_a_look_ends_at_once_when_the_background_thread_is_to_end(state):
    with Swallower() as swallower:
        Raising(state).look([swallower.standing()], 0.0, lambda _: True)
        assert is_free(swallower.thread.ident)


def test_a_look_that_fails_leaves_the_thread_alone(state):
    def fail(_):
        raise ValueError("ours")

    with Swallower() as swallower:
        with pytest.raises(ValueError, match="ours"):
            Raising(state).look([swallower.standing()], 0.0, fail)
        assert is_free(swallower.thread.ident)
    assert state.writer.rows("raises") == []


def is_free(thread):
    """Tell whether a thread can be watched, which one that is watched already cannot."""
    watch = Watch(thread, lambda _: None)
    try:
        return watch.begin(sys._current_frames()[thread])
    finally:
        watch.end()


def test_a_thread_that_has_ended_is_not_looked_at(state):
    with Swallower() as swallower:
        pass
    Raising(state).look([swallower.standing()], 0.0, until(lambda: False))
    assert state.writer.rows("raises") == []


def test_what_the_user_catches_is_recorded_before_what_a_library_does(state, monkeypatch):
    monkeypatch.setattr(raising, "MAX_ROWS", 3)
    look = Look()
    for name, caught_file, count in [
        *(("A", LIBRARY, 90), ("B", "/home/me/a.py", 5), ("C", "/home/me/a.py", 0)),
        *(("D", "/home/me/a.py", 8), ("E", LIBRARY, 50)),
    ]:
        kind = Kind(name, None, None, caught_file, 3)
        look.counts[kind], look.details[kind] = count, ("", ())
    Raising(state)._write(look, "main", 0.2)
    assert [row[3] for row in state.writer.rows("raises")] == ["D", "B", "A"]

"""Loops begin, go on, end and are recorded, whoever runs them."""

import json
import threading
import weakref
from types import SimpleNamespace

import pytest

from probes.stand_ins import Library
from quickfit.probes import _loops, _thread_calls
from quickfit.probes._places import Place
from quickfit.probes._sites import Site
from quickfit.probes._state import Loop, WatchedIterator
from quickfit.recording.schema import columns


def a_loop(number=1, **how):
    return Loop(number, "custom", Place(__file__, 3, "f"), 90.0, 95.0, 5, {}, **how)


@pytest.fixture
def tf(state, monkeypatch):
    """Return the libraries that the loops of this file call."""
    yield Library(state, monkeypatch)
    _thread_calls.threads.clear()


# -- which loop a thread is in --------------------------------------------------------------------


def test_a_loop_is_the_one_of_its_thread_until_it_is_left(state):
    loop = a_loop()
    _loops.begin(loop, state)
    assert state.loop_of_thread == {5: loop}
    assert state.loops == [loop]
    _loops.leave(loop, state)
    assert state.loop_of_thread == {}
    assert loop.is_over


def test_a_thread_is_back_in_the_outer_loop_when_the_inner_one_is_left(state):
    outer, inner = a_loop(1), a_loop(2)
    _loops.begin(outer, state)
    _loops.begin(inner, state)
    assert inner.outer is outer
    _loops.leave(inner, state)
    assert state.loop_of_thread == {5: outer}


def test_an_outer_loop_that_is_over_does_not_come_back(state):
    outer, inner = a_loop(1), a_loop(2)
    _loops.begin(outer, state)
    _loops.begin(inner, state)
    outer.is_over = True
    _loops.leave(inner, state)
    assert state.loop_of_thread == {}


def test_a_loop_that_is_left_out_of_turn_does_not_end_another(state):
    one, two = a_loop(1), a_loop(2)
    _loops.begin(one, state)
    _loops.begin(two, state)
    _loops.leave(one, state)
    assert state.loop_of_thread == {5: two}


def test_a_loop_that_goes_on_is_not_over_any_more_and_is_listed_once(state):
    loop = a_loop()
    _loops.begin(loop, state)
    _loops.leave(loop, state)
    _loops.enter(loop, state)
    assert not loop.is_over
    assert state.loops == [loop]
    assert state.loop_of_thread == {5: loop}


def test_only_the_newest_loops_are_remembered(state):
    for number in range(200):
        _loops.begin(a_loop(number), state)
    assert len(state.loops) <= _loops.MAX_LOOPS + 1
    assert state.loops[-1].id == 199


# -- rows -----------------------------------------------------------------------------------------


def written(state, table):
    names = [column.name for column in columns(table)]
    return [dict(zip(names, row, strict=True)) for row in state.writer.rows(table)]


def test_a_loop_is_recorded_with_its_place_times_and_facts(state, clock, monkeypatch):
    monkeypatch.setattr(_loops, "now", clock)
    loop = a_loop(first_step_s=97.0)
    loop.facts = {"input": "tf.data", "optimizer": SimpleNamespace}
    _loops.write(loop, state)
    loop.is_over = True
    _loops.write(loop, state)
    first, last = written(state, "loops")
    assert (first["id"], first["kind"], first["line"]) == (1, "custom", 3)
    assert (first["entered_s"], first["begin_s"], first["first_step_s"]) == (90.0, 95.0, 97.0)
    assert (first["end_s"], last["end_s"]) == (None, 100.0)
    assert first["thread"] == "5"
    assert json.loads(first["facts"])["input"] == "tf.data", "what is not JSON is told as text"


def test_a_loop_without_a_place_is_recorded_all_the_same(state):
    loop = Loop(1, "fit", None, 0.0, 0.0, 5, {})
    _loops.write(loop, state)
    (row,) = written(state, "loops")
    assert (row["file"], row["line"]) == (None, None)


# -- iterators ------------------------------------------------------------------------------------


class Iterator:
    """Can be weakly referred to."""


def watched(iterator, **how):
    return WatchedIterator(1, weakref.ref(iterator), None, "train", 0.0, **how)


def test_the_iterator_of_an_epoch_belongs_to_its_loop_from_then_on(state):
    iterator = Iterator()
    state.iterators = [watched(iterator, thread=9)]
    loop = a_loop(steps=40)
    _loops.epoch_begins(loop, iterator, state)
    assert state.iterators[0].loop is loop
    assert state.iterators[0].steps_before == 40
    assert loop.epoch_begin_s > 0


def test_an_iterator_of_the_same_thread_that_belongs_to_nobody_belongs_to_the_loop(state):
    """A script may wrap it, or ask for batches inside a compiled function."""
    iterator = Iterator()
    state.iterators = [watched(iterator, thread=5)]
    loop = a_loop()
    _loops.epoch_begins(loop, None, state)
    assert state.iterators[0].loop is loop


def test_an_iterator_of_another_loop_or_thread_is_left_alone(state):
    mine, theirs = Iterator(), Iterator()
    other = a_loop(7)
    state.iterators = [watched(mine, thread=5), watched(theirs, thread=6)]
    state.iterators[0].loop = other
    _loops.epoch_begins(a_loop(), None, state)
    assert [each.loop for each in state.iterators] == [other, None]


# -- calls ----------------------------------------------------------------------------------------


def test_the_totals_of_a_line_are_written_with_every_column(tf, state):
    model = tf.Model()
    model.save("a.keras")
    line = test_the_totals_of_a_line_are_written_with_every_column.__code__.co_firstlineno + 2
    tf.finish()
    (row,) = tf.calls().values()
    assert (row["loop"], row["kind"], row["name"], row["calls"]) == (0, "save", "Model", 1)
    assert (row["file"], row["line"]) == (__file__, line)
    assert row["wall_s"] == row["longest_s"] == pytest.approx(0.5, abs=1e-3)
    assert __file__ in state.writer.sources


def test_totals_that_have_not_grown_are_not_written_again(tf, state):
    model = tf.Model()
    for _ in range(2):
        model.predict(1)
    tf.finish()
    rows = len(state.writer.rows("calls"))
    tf.finish()
    assert len(state.writer.rows("calls")) == rows
    model.predict(1)
    tf.finish()
    assert len(state.writer.rows("calls")) == rows + 1


def test_two_calls_on_one_line_are_both_in_the_recording(tf):
    """A row has the line in its key, and not what is called."""
    one, two = tf.Model(), tf.Checkpoint()
    one.save("a.keras"), two.save("b")
    tf.finish()
    assert tf.called("save") == (2, pytest.approx(0.7, abs=1e-3))


def test_the_same_call_twice_on_one_line_is_counted_twice(tf):
    step = tf.compiled()
    step(1), step(2)
    tf.finish()
    assert tf.called("function") == (2, pytest.approx(0.2, abs=1e-3))


def test_a_line_that_two_threads_run_is_counted_for_both(tf):
    def script():
        tf.Model().save("a.keras")

    threads = [threading.Thread(target=script) for _ in range(2)]
    for thread in threads:
        thread.start()
        thread.join()
    tf.finish()
    assert tf.called("save") == (2, pytest.approx(1.0, abs=1e-3))


def test_the_totals_of_one_line_are_told_by_loop(state):
    frame = SimpleNamespace(f_code=a_loop.__code__, f_lasti=0, f_lineno=3)
    site = Site("save", "Model", frame)
    for number in range(3):
        site.add(number, 1.0)
    _loops.write_calls([site], state)
    assert [row["loop"] for row in written(state, "calls")] == [0, 1, 2]

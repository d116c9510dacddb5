"""How long TensorFlow takes to end an iterator is timed, and no Ctrl-C is lost meanwhile."""

import _thread
import functools
import weakref

import pytest

from quickfit.probes import iterator_ends
from quickfit.probes._places import Place
from quickfit.probes._state import Loop, WatchedIterator


class Resource:
    """Stands for what TensorFlow keeps in an iterator."""


class Iterator:
    """Its attributes are destroyed in the order in which they were set."""

    def __init__(self, dies):
        resource = self._iterator_resource = Resource()
        DEATHS.append(weakref.ref(resource, dies))


DEATHS = []


@pytest.fixture
def loop(state):
    """Return a loop of the script."""
    DEATHS.clear()
    return Loop(3, "custom", Place("/project/train.py", 7, "train"), 0.0, 0.0, 1, {})


def watch(state, loop, dies):
    """Return an iterator that feeds the loop, and has just been set up."""
    iterator = Iterator(dies)
    state.loops = [loop]
    state.iterators.append(WatchedIterator(1, weakref.ref(iterator), loop, "train", 0.0))
    iterator_ends.watch(loop, state)
    return iterator


def written(state):
    iterator_ends.write_totals(state)
    return [(row[1], row[5], row[6], row[8]) for row in state.writer.rows("calls")]


def test_the_end_of_an_iterator_takes_as_long_as_its_resource(state, loop, clock, monkeypatch):
    monkeypatch.setattr(iterator_ends, "now", clock)

    def dies(_):
        clock.now_s += 2.5

    for _ in range(2):
        iterator = watch(state, loop, dies)
        assert written(state)[1:] == []
        del iterator
    assert written(state)[-1] == ("end", 2, 5.0, 2.5)
    assert len(written(state)) == 2, "nothing is written twice"


def test_a_ctrl_c_while_an_iterator_ends_reaches_the_script(state, loop):
    """TensorFlow takes seconds for it, in C++; what runs next must not swallow the interrupt."""
    iterator = watch(state, loop, functools.partial(next, iter(_thread.interrupt_main, 1)))
    held = [iterator]
    del iterator
    with pytest.raises(KeyboardInterrupt):
        held.clear()
    assert len(written(state)) == 1

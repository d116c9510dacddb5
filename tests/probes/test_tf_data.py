"""Pipelines that no loop has taken yet are recorded while nothing moves; then they are its."""

import sys
import threading
import weakref
from types import SimpleNamespace

import pytest

from quickfit.probes import tf_data
from quickfit.probes._state import Loop, WatchedIterator

MODELS = "tensorflow.python.data.experimental.ops.iterator_model_ops"


class Iterator:
    """An iterator that TensorFlow has set up, as far as the probe can tell."""

    def __init__(self):
        self._get_next_call_count = 0
        self._iterator_resource = object()
        self._dataset = Dataset()


class Dataset:
    def options(self):
        return SimpleNamespace(autotune=SimpleNamespace(enabled=None))


@pytest.fixture
def models(state, clock, monkeypatch):
    """Have each iterator tell a model, or fail; return those that were asked."""
    asked = []

    def get_model_proto(iterator):
        asked.append(iterator)
        if getattr(iterator, "fails", False):
            raise RuntimeError("Not found")
        return SimpleNamespace(output=1, nodes={1: SimpleNamespace(num_elements=7)})

    monkeypatch.setitem(sys.modules, MODELS, SimpleNamespace(get_model_proto=get_model_proto))
    monkeypatch.setattr(tf_data, "now", clock)
    monkeypatch.setattr(tf_data, "describe_chain", lambda dataset, state: 3)
    monkeypatch.setattr(tf_data, "recent_gaps", lambda proto, since: (0, 0.0))
    monkeypatch.setattr(tf_data, "nodes_to_json", lambda proto: "[]")
    return asked


def watch(state, loop=None, created_s=90.0):
    """Have an iterator watched; return both."""
    iterator = Iterator()
    watched = WatchedIterator(
        state.new_id("iterator"), weakref.ref(iterator), loop, "train", created_s
    )
    state.iterators.append(watched)
    return iterator, watched


def test_an_iterator_without_a_loop_is_recorded_as_waiting(state, models):
    _kept = watch(state)
    tf_data.read_pipelines(state)
    assert models == []
    tf_data.read_waiting(state)
    tf_data.read_waiting(state)
    assert state.writer.rows("iterators") == [(1, 0, "waiting", 3, 90.0)]
    assert len(state.writer.rows("pipelines")) == 2


def test_when_a_loop_takes_it_its_row_becomes_the_loops(state, models):
    _kept, watched = watch(state)
    tf_data.read_waiting(state)
    watched.loop = Loop(4, "custom", None, 0.0, 0.0, 1, {})
    for _ in range(3):
        tf_data.read_pipelines(state)
        tf_data.read_waiting(state)
    assert state.writer.rows("iterators")[1:] == [(1, 4, "train", 3, 90.0)]
    assert len(state.writer.rows("pipelines")) == 4


def test_an_iterator_that_has_no_model_yet_is_not_asked_again_before_a_loop_takes_it(state, models):
    iterator, watched = watch(state)
    iterator.fails = True
    tf_data.read_waiting(state)
    tf_data.read_waiting(state)
    assert len(models) == 1
    assert state.writer.rows("notes") == []
    iterator.fails = False
    watched.loop = Loop(4, "custom", None, 0.0, 0.0, 1, {})
    tf_data.read_pipelines(state)
    assert (len(models), watched.failures, watched.has_model) == (2, 0, True)


@pytest.mark.parametrize("why", ["just made", "not set up", "gone", "autotune is off"])
def test_it_is_not_asked_when(state, models, why):
    iterator, watched = watch(state, created_s=99.95 if why == "just made" else 90.0)
    if why == "not set up":
        del iterator._get_next_call_count
    elif why == "gone":
        del iterator
    elif why == "autotune is off":
        off = SimpleNamespace(autotune=SimpleNamespace(enabled=False))
        iterator._dataset.options = lambda: off
    tf_data.read_waiting(state)
    assert models == []
    assert watched.has_model


def test_only_the_newest_are_asked(state, models):
    kept = [watch(state)[0] for _ in range(20)]
    tf_data.read_waiting(state)
    assert models == kept[-tf_data.MAX_WATCHED :]


def test_an_iterator_that_the_script_drops_during_a_read_ends_on_its_own_thread(
    state, models, monkeypatch
):
    iterator, watched = watch(state, Loop(4, "custom", None, 0.0, 0.0, 1, {}))
    watched.thread = threading.main_thread().ident
    owned, ends = [iterator], []
    watching = weakref.ref(iterator, lambda _: ends.append(threading.get_ident()))
    del iterator

    def get_model_proto(_):
        owned.clear()
        return SimpleNamespace(output=1, nodes={})

    monkeypatch.setitem(sys.modules, MODELS, SimpleNamespace(get_model_proto=get_model_proto))
    background = threading.Thread(target=tf_data.read_pipelines, args=(state,))
    background.start()
    background.join()
    assert watching() is None
    assert ends == [watched.thread]

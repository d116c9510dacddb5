"""What the script's names hold is counted without running its code, and only after growth."""

import collections
import functools
import gc
import json
import sys
import threading
import weakref
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from quickfit.probes import holders
from quickfit.probes._held_sizes import MAX_ITEMS
from quickfit.probes._state import Loop

from launch.sessions import PATIENCE_S

MB = 1_000_000


def array(megabytes=2):
    return np.zeros(int(megabytes * MB), "uint8")


def held(names, state=None):
    """Return bytes in megabytes by name, of what a module with these names holds."""
    state = state or SimpleNamespace(active_loops=list, py_inputs=[])
    found = holders.largest_holders(state, [("/home/user/train.py", names)])
    return {one.names[0][2]: round(one.bytes / MB) for one in found}


class Owner:
    """An object of the user's."""

    def __init__(self, kept):
        self.kept = kept


class Hostile(list):
    """Whoever asks it anything runs code of the user's."""

    def __len__(self):
        raise AssertionError("asked for its length")

    def __iter__(self):
        raise AssertionError("iterated")

    def __getitem__(self, place):
        raise AssertionError("asked for an item")


class Guarded:
    """It has a property that must not be asked."""

    def __init__(self):
        self.kept = [array()]

    def __getattribute__(self, name):
        raise AssertionError(f"asked for {name}")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"kept": [array(), array()]}, {"kept": 4}),
        ({"kept": {1: array(), 2: (3, array())}}, {"kept": 4}),
        ({"kept": collections.deque([array()], maxlen=5)}, {"kept": 2}),
        ({"kept": [[array()], [array()]]}, {"kept": 4}),
        ({"kept": array(3)}, {"kept": 3}),
        ({"kept": [b"x" * MB, b"y" * MB]}, {"kept": 2}),
        ({"kept": [Owner(array())]}, {"kept": 2}),
        ({"owner": Owner([array()])}, {"self.kept": 2}),
        ({"owner": Owner([array()]).__init__}, {"self.kept": 2}),
        ({"kept": Hostile([array()])}, {"kept": 2}),
        ({"owner": Guarded()}, {"self.kept": 2}),
        ({"kept": [1.0] * 3}, {}),
        ({"kept": [array().reshape(2, -1)[0]]}, {"kept": 2}),
        ({"kept": ["text", None, object()]}, {}),
    ],
)
def test_what_is_held_is_counted(names, expected):
    assert held(names) == expected


def test_an_object_in_two_places_is_counted_once():
    one = array()
    assert held({"kept": [one, one, one[:5]]}) == {"kept": 2}
    found = held({"kept": [one], "again": [one]})
    assert sum(found.values()) == 2


def test_a_container_with_two_names_has_both():
    kept = [array()]
    (found,) = holders.largest_holders(
        SimpleNamespace(active_loops=list, py_inputs=[]),
        [("/a.py", {"history": kept, "owner": Owner(kept)})],
    )
    assert [name for _, _, name in found.names][:2] == ["history", "self.kept"]


def test_of_a_large_container_some_items_stand_for_all():
    kept = [array(1) for _ in range(4)] * 500
    assert held({"kept": kept})["kept"] == 4
    many = [np.zeros(10_000, "uint8") for _ in range(4 * MAX_ITEMS)]
    assert held({"kept": many})["kept"] == pytest.approx(4 * MAX_ITEMS * 0.01, rel=0.1)


def test_pages_of_a_file_are_not_memory(tmp_path):
    mapped = np.memmap(tmp_path / "x.bin", "uint8", "w+", shape=(3 * MB,))
    assert held({"kept": [np.asarray(mapped)], "view": np.asarray(mapped)[5:]}) == {}


def test_closures_defaults_caches_and_generators_are_looked_into():
    kept = {0: array()}

    def closure():
        return kept

    def default(cache=[array()]):  # noqa: B006, B008 - that is the mistake
        return cache

    @functools.cache
    def cached(number):
        return array()

    @functools.lru_cache(maxsize=8)
    def bounded(number):
        return array()

    def batches():
        seen = [array()]
        while True:
            yield seen

    cached(1), cached(2), bounded(1)
    running = batches()
    next(running)
    assert held({"load": closure}) == {"kept": 2}
    assert held({"load": default}) == {"cache": 2}
    assert held({"load": cached}) == {"load": 4}
    assert held({"load": bounded}) == {"load": 2}
    assert held({"running": running}) == {"seen": 2}


def test_local_variables_of_functions_that_run_are_seen_and_not_kept():
    began, go_on, seen = threading.Event(), threading.Event(), []

    def train():
        history = [array()]
        batch = array(3)
        seen.append(weakref.ref(batch))
        began.set()
        go_on.wait(PATIENCE_S)
        del batch
        seen.append(seen[0]() is None)
        return history

    thread = threading.Thread(target=train)
    thread.start()
    began.wait(PATIENCE_S)
    found = held({})
    go_on.set()
    thread.join()
    assert found == {"history": 2, "batch": 3}
    assert seen[1], "a look keeps what the function has dropped"


def test_a_function_that_asks_for_its_locals_is_left_alone():
    began, go_on = threading.Event(), threading.Event()

    def train():
        history = [array()]
        settings = locals()
        began.set()
        go_on.wait(PATIENCE_S)
        return settings, history

    thread = threading.Thread(target=train)
    thread.start()
    began.wait(PATIENCE_S)
    found = held({})
    go_on.set()
    thread.join()
    assert found == {}


def test_callbacks_and_python_inputs_are_looked_into(state):
    callbacks, dataset = SimpleNamespace(callbacks=[Owner([array()])]), Owner({1: array(3)})
    listed = type("CallbackList", (), {"callbacks": callbacks.callbacks})()
    loop = Loop(1, "fit", None, 0.0, 0.0, 0, {})
    loop.abandoned = weakref.ref(listed)
    state.loops.append(loop)
    state.py_inputs.append(SimpleNamespace(source=weakref.ref(dataset)))
    found = holders.largest_holders(state, [])
    assert [round(one.bytes / MB) for one in found] == [3, 2]
    assert found[0].names == [(__file__, "Owner", "self.kept")]


def test_a_bound_is_told():
    (found,) = holders.largest_holders(
        SimpleNamespace(active_loops=list, py_inputs=[]),
        [("/a.py", {"kept": collections.deque([array()], maxlen=7)})],
    )
    assert (found.kind, found.items, found.bound) == ("deque", 1, 7)


def test_nothing_is_kept_alive():
    kept = [array()]
    gone = weakref.ref(kept[0])
    held({"kept": kept})
    del kept
    gc.collect()
    assert gone() is None


@pytest.fixture
def tensorflow(monkeypatch):
    name = "tensorflow.python.framework.ops"
    monkeypatch.setitem(sys.modules, name, ModuleType(name))


def test_a_look_follows_growth_and_costs_a_share_of_a_core(state, tensorflow, monkeypatch, clock):
    monkeypatch.setattr(holders, "now", clock)
    monkeypatch.setattr(holders.Looks, "user_modules", lambda self: [("/a.py", {"x": array()})])

    def looks():
        return len(state.writer.rows("holders"))

    holders.read(state, 500 * MB)
    holders.read(state, 520 * MB)
    assert looks() == 0
    holders.read(state, 600 * MB)
    assert looks() == 1
    # It has just been looked.
    holders.read(state, 900 * MB)
    assert looks() == 1
    clock.now_s += 60
    holders.read(state, 610 * MB)
    assert looks() == 1
    holders.read(state, 900 * MB)
    assert looks() == 2
    row = state.writer.rows("holders")[-1]
    assert json.loads(row[1]) == [["/a.py", "", "x"]]
    assert row[2:] == ("array", 1, 2 * MB, None, "arrays")


def test_steps_that_take_longer_are_worth_a_look_too(state, tensorflow, monkeypatch, clock):
    monkeypatch.setattr(holders, "now", clock)
    monkeypatch.setattr(holders.Looks, "user_modules", lambda self: [("/a.py", {"x": array()})])
    loop = SimpleNamespace(id=1, steps=0, begin_s=clock.now_s, is_over=False, abandoned=None)
    monkeypatch.setattr(state, "loops", [loop])

    def run(seconds, rate):
        before = len(state.writer.rows("holders"))
        for _ in range(seconds):
            clock.now_s += 1
            loop.steps += rate
            holders.read(state, 500 * MB)
        return len(state.writer.rows("holders")) - before

    assert run(20, 100) == 0
    assert run(10, 90) == 0  # not much slower
    assert 1 <= run(20, 50) <= 4  # slower: looked at, and at longer and longer intervals
    assert run(10, 100) == 0
    assert run(1, 2) == 0  # too few steps for a rate
    loop.id = 2  # another loop has its own best
    assert run(20, 10) == 0


def test_one_thing_may_be_small_and_a_container_may_not(state):
    names = {"one": array(0.1), "many": [array(0.1)], "little": array(0.001)}
    assert held(names).keys() == {"one"}


def test_without_tensorflow_nobody_looks(state, monkeypatch):
    monkeypatch.delitem(sys.modules, "tensorflow.python.framework.ops", raising=False)
    for size in (500, 900, 2000):
        holders.read(state, size * MB)
    assert state.writer.rows("holders") == []


def test_a_look_that_takes_too_long_ends(monkeypatch):
    monkeypatch.setattr(holders, "MAX_LOOK_S", -1.0)
    assert held({"kept": [array()]}) == {}

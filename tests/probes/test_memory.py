"""Live objects are counted rarely, without keeping or touching them."""

import gc
import sys
from types import ModuleType, SimpleNamespace

import pytest

from quickfit.probes import memory
from quickfit.probes._state import Loop


class Tensor:
    """Stands for an eager tensor."""

    def __init__(self):
        self.own = [self]  # the collector must know it


class Special(Tensor):
    """A subclass: counted, with its parents."""


@pytest.fixture
def tensorflow(monkeypatch):
    """A TensorFlow on paper, with the classes that are counted."""
    gc.collect()  # what other tests left
    ops = ModuleType("tensorflow.python.framework.ops")
    ops.EagerTensor = Tensor
    asked = SimpleNamespace(gpus=[], calls=[])
    experimental = SimpleNamespace(
        get_memory_info=lambda name: asked.calls.append(name) or {"current": 5, "peak": 9},
    )
    top = ModuleType("tensorflow")
    top.config = SimpleNamespace(
        experimental=experimental,
        list_physical_devices=lambda kind: asked.gpus,
        list_logical_devices=lambda kind: asked.gpus,
    )
    monkeypatch.setattr(memory._private, "NAMES", {})
    monkeypatch.setitem(sys.modules, ops.__name__, ops)
    monkeypatch.setitem(sys.modules, "tensorflow", top)
    return asked


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """However much the tests before have left in this process, it is not too large to count."""
    monkeypatch.setattr(memory, "MAX_BLOCKS", 10**9)


@pytest.fixture
def loop(state):
    """A loop that has taken some steps."""
    made = Loop(1, "fit", None, 0.0, 0.0, 0, {}, steps=memory.FIRST_STEP)
    state.loops.append(made)
    return made


def counted(state, kind):
    return [(row[2], row[3]) for row in state.writer.rows("objects") if row[1] == kind]


def test_kept_objects_are_counted_with_their_subclasses(state, tensorflow, loop):
    kept = [Tensor(), Tensor(), Special()]
    memory.read(state)
    assert counted(state, "tensors") == [(len(kept), None)]
    ((everything, _),) = counted(state, "all")
    assert everything > 1000


def test_counting_keeps_no_reference(state, tensorflow, loop):
    kept = Tensor()
    before = sys.getrefcount(kept)
    memory.read(state)
    assert sys.getrefcount(kept) == before


def test_the_collector_is_left_as_it_was():
    memory.type_counts()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        memory._uninterrupted(lambda: 1 / 0)
    assert gc.isenabled()
    gc.disable()
    try:
        memory.type_counts()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_class_whose_hash_fails_is_counted():
    class Odd(type):
        __hash__ = None

    kept = Odd("Kept", (), {"__slots__": ("own",)})()
    kept.own = [kept]
    assert memory.type_counts()[id(type(kept))] == 1


@pytest.mark.parametrize(
    ("cost_s", "expected"),
    [
        pytest.param(0.001, [100, 120, 140, 160], id="cheap: every twenty seconds"),
        pytest.param(0.05, [100, 120, 170], id="50 ms: every 50 s after the second"),
    ],
)
def test_the_cost_decides_how_often(state, tensorflow, loop, clock, monkeypatch, cost_s, expected):
    cpu_s, times = [0.0], []

    def count(state, census):
        cpu_s[0] += cost_s
        times.append(clock.now_s)

    monkeypatch.setattr(memory, "now", clock)
    monkeypatch.setattr(memory, "_count", count)
    monkeypatch.setattr(memory.time, "thread_time", lambda: cpu_s[0])
    while clock.now_s < 175:
        memory.read(state)
        clock.now_s += 0.5
    assert times == expected


def test_nothing_is_counted_before_training(state, tensorflow, clock, monkeypatch):
    monkeypatch.setattr(memory, "now", clock)
    memory.read(state)
    assert counted(state, "all") == []
    clock.now_s += memory.WITHOUT_LOOP_S
    memory.read(state)
    assert len(counted(state, "all")) == 1


def test_the_first_steps_are_counted_at_once(state, tensorflow, clock, monkeypatch):
    monkeypatch.setattr(memory, "now", clock)
    memory.read(state)
    clock.now_s += memory.WITHOUT_LOOP_S
    memory.read(state)  # TensorFlow is there, but nothing trains yet
    clock.now_s += 1.0
    state.loops.append(Loop(1, "fit", None, 0.0, 0.0, 0, {}, steps=memory.FIRST_STEP))
    memory.read(state)
    clock.now_s += 1.0
    memory.read(state)
    assert len(counted(state, "all")) == 2


def test_nothing_is_counted_without_tensorflow(state, loop, monkeypatch):
    monkeypatch.delitem(sys.modules, "tensorflow.python.framework.ops", raising=False)
    memory.read(state)
    assert state.writer.rows("objects") == []


def test_a_huge_heap_is_left_alone_and_that_is_said_once(
    state, tensorflow, loop, clock, monkeypatch
):
    monkeypatch.setattr(memory, "now", clock)
    monkeypatch.setattr(memory, "MAX_BLOCKS", 10)
    for _ in range(3):
        memory.read(state)
        clock.now_s += 1000.0
    assert state.writer.rows("objects") == []
    assert len(state.writer.rows("notes")) == 1


def test_device_memory_is_asked_for_on_gpus_only(state, tensorflow, loop):
    memory._read_devices(state)
    assert tensorflow.calls == []
    tensorflow.gpus = ["/device:GPU:0", "/device:GPU:1"]
    memory._read_devices(state)
    assert tensorflow.calls == ["GPU:0", "GPU:1"]
    rows = state.writer.rows("device_memory")
    assert [(row[0], *row[2:]) for row in rows] == [("GPU:0", 5, 9), ("GPU:1", 5, 9)]

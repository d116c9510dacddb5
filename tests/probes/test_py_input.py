"""Generators and PyDatasets are timed batch by batch, as Keras asks for them."""

import itertools
import sys
import threading
import traceback
from types import ModuleType, SimpleNamespace

import pytest

from quickfit.probes import _hooks, py_input
from quickfit.probes._state import Loop
from quickfit.probes.py_input import GENERATORS, PY_DATASETS, PyInput


class GeneratorDataAdapter:
    """Keeps the generator as Keras does."""

    def __init__(self, generator):
        batches = list(itertools.islice(generator, 2))
        self.generator = lambda: itertools.chain(batches, generator)

    def get_tf_dataset(self):
        return [*self.generator()]


class PyDatasetAdapter:
    """Keeps the dataset as Keras does."""

    def __init__(self, py_dataset, enqueuer=None):
        self.py_dataset, self.enqueuer = py_dataset, enqueuer

    def _get_iterator(self):
        return (self.py_dataset[i] for i in range(3))

    def get_tf_dataset(self):
        return [*self._get_iterator()]


@pytest.fixture
def adapters(state):
    """Return both adapters, hooked."""
    made = {}
    for name, adapter in ((GENERATORS, GeneratorDataAdapter), (PY_DATASETS, PyDatasetAdapter)):
        module = ModuleType(name)
        # A fresh class: a hook must not stay on for the next test.
        own = {"get_tf_dataset": adapter.get_tf_dataset}
        hooked = type(adapter.__name__, (adapter,), own)
        setattr(module, adapter.__name__, hooked)
        py_input.patches()[name](module)
        made[name] = hooked
    return SimpleNamespace(generator=made[GENERATORS], py_dataset=made[PY_DATASETS])


def batches(number):
    """Yield numbers."""
    yield from range(number)


class Squares:
    """A PyDataset."""

    workers, use_multiprocessing = 1, False

    def __getitem__(self, index):
        return index * index


def test_of_a_librarys_pydataset_the_line_that_made_it_is_known(adapters, state, monkeypatch):
    # The class is one of a library, and so is the function that makes it.
    source = (
        "class Images(Base):\n"
        "    workers, use_multiprocessing = 1, False\n"
        "    def __init__(self): super().__init__()\n"
        "    def __getitem__(self, index): return index\n"
        "def flow_from_directory(): return Images()\n"
    )
    base = type("PyDataset", (), {"__init__": lambda self: None})
    library = {"Base": base, "__name__": "keras"}
    exec(compile(source, threading.__file__, "exec"), library)
    py_input._patch_py_datasets(
        SimpleNamespace(PyDatasetAdapter=adapters.py_dataset, PyDataset=base)
    )
    made = library["flow_from_directory"]()
    line = sys._getframe().f_lineno - 1
    adapters.py_dataset(made).get_tf_dataset()
    (watched,) = state.py_inputs
    assert watched.place.file == threading.__file__
    assert watched.made_at[:2] == (__file__, line)
    py_input.write_totals(state)
    assert state.writer.rows("py_inputs")[-1][-2:] == (__file__, line)


def test_a_generator_is_counted_and_named(adapters, state):
    assert adapters.generator(batches(5)).get_tf_dataset() == [0, 1, 2, 3, 4]
    (watched,) = state.py_inputs
    assert (watched.kind, watched.name, watched.batches, watched.workers) == (
        *("generator", "batches"),
        *(5, 1),
    )
    line = batches.__code__.co_firstlineno
    assert (watched.place.file, watched.place.line) == (__file__, line)
    assert state.writer.sources == [__file__]
    assert not watched.is_busy, "it has ended"


def test_an_iterator_object_is_named_by_its_class(adapters, state):
    class Images:
        def __iter__(self):
            return self

        def __next__(self):
            raise StopIteration

    adapters.generator(Images()).get_tf_dataset()
    (watched,) = state.py_inputs
    assert (watched.name, watched.place.function) == ("Images", "__next__")


def test_a_pydataset_is_counted_over_all_epochs(adapters, state):
    adapter = adapters.py_dataset(Squares())
    assert adapter.get_tf_dataset() == adapter.get_tf_dataset() == [0, 1, 4]
    (watched,) = state.py_inputs
    assert (watched.kind, watched.name, watched.batches) == ("pydataset", "Squares", 6)
    assert watched.place.function == "__getitem__"


@pytest.mark.parametrize(
    ("workers", "processes", "enqueuer", "expected"),
    [
        (1, False, None, ("pydataset", 1)),
        (0, False, None, ("pydataset", 1)),
        (None, False, None, ("pydataset", 1)),
        (4, False, object(), ("pydataset", 4)),
        (4, True, object(), ("pydataset-processes", 4)),
    ],
)
def test_workers_count_when_keras_uses_them(
    adapters, state, workers, processes, enqueuer, expected
):
    dataset = Squares()
    dataset.workers, dataset.use_multiprocessing = workers, processes
    adapters.py_dataset(dataset, enqueuer).get_tf_dataset()
    (watched,) = state.py_inputs
    assert (watched.kind, watched.workers) == expected


def test_an_error_in_a_generator_shows_no_frame_of_ours(adapters):
    def fails():
        yield from (1, 2, 3)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        adapters.generator(fails()).get_tf_dataset()
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert not {frame.filename for frame in frames} & {py_input.__file__, _hooks.__file__}


def test_an_adapter_that_cannot_be_watched_works_as_ever(adapters, state):
    class Odd(Squares):
        @property
        def workers(self):
            raise RuntimeError("no")

    assert adapters.py_dataset(Odd(), object()).get_tf_dataset() == [0, 1, 4]
    assert state.probes["py_input"].state == "failed"
    assert "RuntimeError: no" in state.probes["py_input"].detail


def test_a_missing_name_turns_the_probe_off_and_not_the_script(state):
    py_input.patches()[GENERATORS](ModuleType(GENERATORS))
    assert state.probes["py_input"].state == "missing"
    assert "GeneratorDataAdapter.get_tf_dataset: no such name" in state.probes["py_input"].detail


def test_time_counts_from_the_request_to_the_batch(monkeypatch, clock):
    monkeypatch.setattr(py_input, "now", clock)
    cpu_s = iter([10.0, 12.0, 12.0])
    monkeypatch.setattr(py_input.time, "thread_time", lambda: next(cpu_s))
    watched = PyInput(1, "generator", "g", None, 1)
    watched.begin()
    clock.now_s += 3.0
    assert watched.is_busy
    watched.end()
    assert (watched.wall_s, watched.cpu_s, watched.batches, watched.is_busy) == (3.0, 2.0, 1, False)
    watched.begin()
    assert watched.is_busy, "this is what a stalled generator looks like"


def test_totals_belong_to_the_loop_that_runs(state, monkeypatch, clock):
    monkeypatch.setattr(py_input, "now", clock)
    state.py_inputs = [PyInput(1, "generator", "g", None, 1)]
    py_input.write_totals(state)
    state.loops = [Loop(6, "fit", None, 0.0, 0.0, 0, {})]
    py_input.write_totals(state)
    state.loops[0].is_over = True
    py_input.write_totals(state)
    # The third time nothing had moved, and nothing was waited for.
    assert [row[2] for row in state.writer.rows("py_inputs")] == [None, 6]
    assert state.writer.rows("py_inputs")[0] == (
        *(1, 100.0, None, "generator", "g"),
        *(None, None, 1, 0, 0.0, 0.0, 0, None, None),
    )


def test_only_the_newest_inputs_are_remembered(adapters, state):
    for _ in range(40):
        adapters.generator(batches(1)).get_tf_dataset()
    assert [watched.id for watched in state.py_inputs] == list(range(25, 41))
    assert sys.getsizeof(state.py_inputs) < 1000

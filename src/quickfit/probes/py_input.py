"""Watches Python generators and PyDatasets that feed `fit`: how long each batch takes to make."""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any

from quickfit.probes._guard import guarded
from quickfit.probes._hooks import notice_calls, timed_iterator
from quickfit.probes._imports import Patch, patching
from quickfit.probes._places import (
    Place,
    is_user_file,
    place_of_code,
    place_of_function,
    user_place,
)
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, State, now

GENERATORS = "keras.src.trainers.data_adapters.generator_data_adapter"
PY_DATASETS = "keras.src.trainers.data_adapters.py_dataset_adapter"


class PyInput:
    """The running totals of one generator or PyDataset.

    `wall_s` is the time inside its `next`. With several workers that is the wait for them.
    """

    def __init__(
        self, number: int, kind: str, name: str, place: Place | None, workers: int
    ) -> None:
        self.id = number
        self.kind = kind
        self.name = name
        self.place = place
        self.workers = workers
        # The user's line that made it, where its code is a library's.
        self.made_at: Place | None = None
        self.loop_id: int | None = None
        self.batches = 0
        self.wall_s = self.cpu_s = 0.0
        self.is_busy = False
        # What feeds the loop, as long as it lives.
        self.source: weakref.ref[Any] | None = None
        self._began_s = self._began_cpu_s = 0.0

    def begin(self) -> bool:
        """Note that the next batch is asked for."""
        self.is_busy = True
        self._began_cpu_s = time.thread_time()
        self._began_s = now()
        return True

    def end(self) -> bool:
        """Note that the batch is there."""
        self.wall_s += now() - self._began_s
        self.cpu_s += time.thread_time() - self._began_cpu_s
        self.batches += 1
        self.is_busy = False
        return True

    def exhausted(self) -> None:
        """Note that there is no next batch."""
        self.is_busy = False

    def over(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Return the batches, timed."""
        return timed_iterator(batches, self.begin, self.end, self.exhausted)


def new_probe() -> Probe:
    """Return the probe of Python input."""
    return Probe("py_input", needs=(GENERATORS, PY_DATASETS))


def patches() -> dict[str, Patch]:
    """Return what to patch after which import."""
    return {
        GENERATORS: patching("py_input", _patch_generators),
        PY_DATASETS: patching("py_input", _patch_py_datasets),
    }


def _patch_generators(module: ModuleType) -> None:
    notice_calls(module.GeneratorDataAdapter, "get_tf_dataset", _noticed(_time_generator))


def _patch_py_datasets(module: ModuleType) -> None:
    notice_calls(module.PyDatasetAdapter, "get_tf_dataset", _noticed(_time_py_dataset))
    datasets = getattr(module, "PyDataset", None)
    if datasets is not None and "__init__" in vars(datasets):
        notice_calls(datasets, "__init__", _note_maker)


# Where the PyDatasets of the process were made, by their number.
_made_at: dict[int, tuple[weakref.ref[Any], Place]] = {}


def _note_maker(dataset: Any) -> None:
    """Remember the user's line that makes a PyDataset, such as `flow_from_directory(…)`."""
    state = Current.state
    if state is not None:
        guarded(state.probes["py_input"], _remember)(dataset, sys._getframe(2))


def _remember(dataset: Any, frame: FrameType) -> None:
    place = user_place(frame)
    if place is not None:
        number = id(dataset)
        _made_at[number] = weakref.ref(dataset, lambda _: _made_at.pop(number, None)), place


def _maker_of(dataset: Any) -> Place | None:
    reference, place = _made_at.get(id(dataset), (None, None))
    return place if reference is not None and reference() is dataset else None


def _noticed(action: Any) -> Any:
    def notice(adapter: Any) -> None:
        state = Current.state
        if state is None or state.is_waiting:
            return
        if not getattr(adapter, "_quickfit", False):
            guarded(state.probes["py_input"], action)(adapter, state)

    return notice


def _time_generator(adapter: Any, state: State) -> None:
    original = adapter.generator
    source = _generator_behind(original)
    place = _place_of_iterator(source)
    watched = _new_input(state, "generator", _name_of(source), place, workers=1)
    watched.source = _weakly(source)
    adapter.generator = lambda: watched.over(original())
    adapter._quickfit = True


def _time_py_dataset(adapter: Any, state: State) -> None:
    original = adapter._get_iterator
    dataset = adapter.py_dataset
    place = place_of_function(type(dataset).__getitem__)
    workers = max(int(dataset.workers or 1), 1) if adapter.enqueuer is not None else 1
    kind = "pydataset-processes" if dataset.use_multiprocessing else "pydataset"
    watched = _new_input(state, kind, type(dataset).__name__, place, workers=workers)
    watched.source = _weakly(dataset)
    if place is None or not is_user_file(place.file):
        watched.made_at = state.source(_maker_of(dataset))
    adapter._get_iterator = lambda: watched.over(original())
    adapter._quickfit = True


def _weakly(source: Any) -> weakref.ref[Any] | None:
    try:
        return weakref.ref(source)
    except TypeError:  # a class with slots
        return None


def _new_input(state: State, kind: str, name: str, place: Place | None, *, workers: int) -> PyInput:
    state.source(place)
    watched = PyInput(state.new_id("py_input"), kind, name, place, workers)
    state.py_inputs = [*state.py_inputs[-15:], watched]
    return watched


def _generator_behind(chained: Any) -> Any:
    """Return the user's generator from the closure in which Keras keeps it.

    Keras peeks at the first batches and then chains them with the rest; the generator itself
    is a variable of that closure.
    """
    for cell in getattr(chained, "__closure__", None) or ():
        value = cell.cell_contents
        if hasattr(value, "__next__"):
            return value
    return None


def _place_of_iterator(source: Any) -> Place | None:
    code = getattr(source, "gi_code", None)
    if code is not None:
        return place_of_code(code)
    return (
        place_of_function(getattr(type(source), "__next__", None)) if source is not None else None
    )


def _name_of(source: Any) -> str:
    return str(getattr(source, "__name__", type(source).__name__))


def write_totals(state: State) -> None:
    """Record the running totals of every Python input that moved or is waited for."""
    at_s = now()
    for watched in list(state.py_inputs):
        if watched.loop_id is None and state.active_loops():
            watched.loop_id = state.active_loops()[-1].id
        file, line = watched.place[:2] if watched.place else (None, None)
        made_file, made_line = watched.made_at[:2] if watched.made_at else (None, None)
        row = (
            watched.id,
            at_s,
            watched.loop_id,
            watched.kind,
            watched.name,
            file,
            line,
            watched.workers,
            watched.batches,
            watched.wall_s,
            watched.cpu_s,
            int(watched.is_busy),
            made_file,
            made_line,
        )
        # One that stands still and is not waited for belongs to a `fit` that has ended.
        seen = (watched.loop_id, watched.batches, watched.is_busy)
        if watched.is_busy or state.kept.get(("py_input", watched.id)) != seen:
            state.kept[("py_input", watched.id)] = seen
            state.writer.add("py_inputs", row)

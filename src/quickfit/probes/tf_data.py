"""Watches tf.data: where each operation was written, and the model of every pipeline that runs."""

from __future__ import annotations

import contextlib
import json
import sys
import weakref
from types import ModuleType
from typing import Any

from quickfit.pipeline_model.snapshot import nodes_to_json, recent_gaps
from quickfit.probes._guard import guarded
from quickfit.probes._hooks import notice_calls, wrap_quick
from quickfit.probes._imports import Patch, patching
from quickfit.probes._places import Place, place_of_function, user_place
from quickfit.probes._probe import Probe
from quickfit.probes._state import Current, State, WatchedIterator, now

DATASETS = "tensorflow.python.data.ops.dataset_ops"
ITERATORS = "tensorflow.python.data.ops.iterator_ops"
# Pipelines read at one time: the newest ones. A script may hold many iterators open.
MAX_WATCHED = 4
# An iterator that no step has used yet is asked for its model after this long.
SETTLING_S = 1.0
# After so many tries without a model, an iterator has none.
MAX_FAILURES = 2
# A chain longer than this is not described to its end.
MAX_CHAIN = 200

_PYTHON_OPS = {"EagerPyFunc", "PyFunc", "PyFuncStateless"}
_places: weakref.WeakKeyDictionary[Any, Place] = weakref.WeakKeyDictionary()


def new_probe() -> Probe:
    """Return the probe of tf.data pipelines."""
    return Probe("tf_data", needs=(DATASETS, ITERATORS))


def patches() -> dict[str, Patch]:
    """Return what to patch after which import."""
    return {
        DATASETS: patching("tf_data", _patch_datasets),
        ITERATORS: patching("tf_data", _patch_iterators),
    }


def _patch_datasets(module: ModuleType) -> None:
    # The base constructor runs last in every dataset's own one; no user code runs inside.
    wrap_quick(module.DatasetV2, "__init__", _dataset_made)


def _patch_iterators(module: ModuleType) -> None:
    notice_calls(module.OwnedIterator, "_create_iterator", _iterator_made)


def _dataset_made(_: None, dataset: Any, *__: Any) -> None:
    state = Current.state
    if state is not None and not state.probes["tf_data"].is_off:
        guarded(state.probes["tf_data"], _keep_place)(dataset)


def _keep_place(dataset: Any) -> None:
    place = user_place(sys._getframe(3))
    if place is not None:
        _places[dataset] = place


def _iterator_made(iterator: Any) -> None:
    state = Current.state
    if state is not None and not state.probes["tf_data"].is_off:
        guarded(state.probes["tf_data"], _watch_iterator)(iterator, state)


def _watch_iterator(iterator: Any, state: State) -> None:
    loop = state.current_loop()
    if loop is None:
        return
    watched = WatchedIterator(
        state.new_id("iterator"), weakref.ref(iterator), loop, loop.phase, now(), loop.steps
    )
    state.iterators = [w for w in state.iterators[-32:] if w.iterator() is not None] + [watched]


def read_pipelines(state: State) -> None:
    """Record the model of every pipeline that feeds a running loop."""
    for watched in list(state.iterators)[-MAX_WATCHED:]:
        iterator = watched.iterator()
        if iterator is None or watched.loop.is_over or not watched.has_model:
            continue
        if not _is_ready(watched, iterator):
            continue
        if watched.dataset_id is None:
            _describe(watched, iterator, state)
        if _has_autotune(iterator):
            _read_model(watched, iterator, state)
        else:
            watched.has_model = False
            state.writer.add("notes", (now(), "no pipeline model: autotune is off"))


def _is_ready(watched: WatchedIterator, iterator: Any) -> bool:
    """Tell whether TensorFlow has set an iterator up; asked earlier, it warns on stderr."""
    is_used = watched.loop.steps > watched.steps_before
    is_old = now() - watched.created_s > SETTLING_S
    return (is_used or is_old) and hasattr(iterator, "_iterator_resource")


def _has_autotune(iterator: Any) -> bool:
    """Tell whether the pipeline has a model at all; asked without, TensorFlow warns on stderr."""
    options = getattr(iterator, "_dataset", None)
    options = options.options() if options is not None else None
    return options is None or options.autotune.enabled is not False


def _read_model(watched: WatchedIterator, iterator: Any, state: State) -> None:
    experimental = sys.modules.get("tensorflow.python.data.experimental.ops.iterator_model_ops")
    if experimental is None:
        return
    try:
        proto = experimental.get_model_proto(iterator)
    except Exception as error:  # autotune off (NotFound), graph mode, a distributed iterator
        # Between its creation and its first use an iterator has no model yet.
        watched.failures += 1
        if watched.failures >= MAX_FAILURES:
            watched.has_model = False
            state.writer.add("notes", (now(), f"no pipeline model: {type(error).__name__}"))
        return
    at_s = now()
    if proto.output not in proto.nodes:
        return
    elements = proto.nodes[proto.output].num_elements
    gaps, gap_s = recent_gaps(proto, elements - watched.elements)
    watched.elements = elements
    state.writer.add(
        "pipelines", (watched.id, at_s, gaps, gap_s, proto.output, nodes_to_json(proto))
    )


def _describe(watched: WatchedIterator, iterator: Any, state: State) -> None:
    """Record the chain of operations behind an iterator, once."""
    dataset = getattr(iterator, "_dataset", None)
    if dataset is None:
        return
    watched.dataset_id = _describe_chain(dataset, state, depth=0)
    state.writer.add(
        "iterators",
        (watched.id, watched.loop.id, watched.phase, watched.dataset_id, watched.created_s),
    )


def _describe_chain(dataset: Any, state: State, *, depth: int) -> int:
    known: dict[int, tuple[Any, int]] = state.kept.setdefault("datasets", {})
    entry = known.get(id(dataset))
    if entry is not None and entry[0]() is dataset:
        return entry[1]
    inputs = []
    if depth < MAX_CHAIN:
        inputs = [_describe_chain(d, state, depth=depth + 1) for d in dataset._inputs()]
    number = state.new_id("dataset")
    known[id(dataset)] = (weakref.ref(dataset), number)
    place = state.source(_places.get(dataset))
    file, line = (place.file, place.line) if place else (None, None)
    facts = json.dumps(_facts(dataset, state))
    kind = type(dataset).__name__.strip("_").removesuffix("Dataset")
    state.writer.add("datasets", (number, kind, file, line, json.dumps(inputs), facts))
    return number


def _facts(dataset: Any, state: State) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name in ("_buffer_size", "_batch_size", "_num_parallel_calls", "_cycle_length", "_count"):
        value = _number(getattr(dataset, name, None))
        if value is not None:
            facts[name.strip("_")] = value
    function = getattr(getattr(dataset, "_map_func", None), "_func", None)
    if function is not None:
        facts["function"] = getattr(function, "__name__", type(function).__name__)
        place = state.source(place_of_function(function))
        if place is not None:
            facts["function_file"], facts["function_line"] = place.file, place.line
        facts.update(_graph_facts(dataset))
    with contextlib.suppress(Exception):  # an unknown element type has no size
        facts["element_bytes"] = _element_bytes(dataset.element_spec)
    with contextlib.suppress(Exception):
        facts["cardinality"] = int(dataset.cardinality().numpy())
    return facts


def _number(value: Any) -> int | None:
    if value is None or isinstance(value, bool):
        return None
    with contextlib.suppress(Exception):  # a symbolic tensor has no value
        return int(value.numpy() if hasattr(value, "numpy") else value)
    return None


def _graph_facts(dataset: Any) -> dict[str, Any]:
    """Return whether the function given to `map` runs Python, and whether it keeps state."""
    facts: dict[str, Any] = {}
    with contextlib.suppress(Exception):  # a function that was never traced
        operations = dataset._map_func.function.graph.get_operations()
        facts["runs_python"] = any(op.type in _PYTHON_OPS for op in operations)
        facts["is_stateful"] = any(op.op_def.is_stateful for op in operations if op.op_def)
        facts["ops"] = sorted({op.type for op in operations})[:60]
    return facts


def _element_bytes(spec: Any) -> int | None:
    """Return the size of one element when its shape and types say it."""
    parts = spec.values() if isinstance(spec, dict) else spec
    if isinstance(parts, tuple | list) or isinstance(spec, dict):
        sizes = [_element_bytes(part) for part in parts]
        return None if any(size is None for size in sizes) else sum(s for s in sizes if s)
    count = spec.shape.num_elements()
    return None if count is None or spec.dtype.size == 0 else int(count * spec.dtype.size)

"""Describes the datasets of a script: where each operation was written, and what feeds it.

A chain that the function of an `interleave` or `flat_map` builds is made while that function is
traced, and its Python objects would be gone before anyone asks. They are kept on the graph that
is being traced, and live as long as it does.
"""

from __future__ import annotations

import json
import sys
import weakref
from types import ModuleType
from typing import Any

from quickfit.probes._guard import guarded
from quickfit.probes._hooks import wrap_quick
from quickfit.probes._state import Current, State
from quickfit.probes._written import Written, written
from quickfit.probes.tf_data_facts import facts_of, function_wrapper, is_in_function, source_of

DATASETS = "tensorflow.python.data.ops.dataset_ops"
# A chain longer than this is not described to its end.
MAX_CHAIN = 200
# Datasets kept of one traced function; one that unrolls a long loop makes many.
MAX_KEPT = 200

_written: weakref.WeakKeyDictionary[Any, Written] = weakref.WeakKeyDictionary()
# What a rewritten dataset was made of; TensorFlow forgets it.
_rewritten: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def patch_datasets(module: ModuleType) -> None:
    """Notice every dataset that is made from now on."""
    # The base constructor runs last in every dataset's own one; no user code runs inside.
    wrap_quick(module.DatasetV2, "__init__", _dataset_made)
    wrap_quick(module, "apply_rewrite", _dataset_rewritten)


def _dataset_made(_: None, dataset: Any, *__: Any) -> None:
    state = Current.state
    if state is not None and not state.probes["tf_data"].is_off:
        guarded(state.probes["tf_data"], _keep)(dataset)


def _keep(dataset: Any) -> None:
    found = written(sys._getframe(3))
    if found is not None:
        _written[dataset] = found
    if is_in_function(dataset):
        graph = _function_around(dataset._graph_attr)
        kept = getattr(graph, "_quickfit_datasets", ())
        if len(kept) < MAX_KEPT:
            graph._quickfit_datasets = (*kept, dataset)


def _function_around(graph: Any) -> Any:
    """Return the graph of the function in which a branch of a condition or loop stands."""
    while type(graph).__name__ != "FuncGraph" and hasattr(graph, "outer_graph"):
        graph = graph.outer_graph
    return graph


def _dataset_rewritten(result: Any, *args: Any) -> None:
    if args:
        _rewritten[result] = args[0]


def describe_chain(dataset: Any, state: State) -> int:
    """Record a dataset and all that feed it, once; return its number."""
    return _describe(dataset, state, depth=0)


def _describe(dataset: Any, state: State, *, depth: int) -> int:
    known = state.kept.get("datasets")
    if known is None:
        known = state.kept["datasets"] = weakref.WeakKeyDictionary()
    number: int | None = known.get(dataset)
    if number is not None:
        return number
    inputs, made = [], []
    if depth < MAX_CHAIN:
        inputs = [_describe(d, state, depth=depth + 1) for d in _inputs(dataset)]
        made = [_describe(d, state, depth=depth + 1) for d in _made_by_function(dataset)]
    number = known[dataset] = state.new_id("dataset")
    at = _written.get(dataset)
    place = state.source(at.place) if at is not None else None
    file, line = (place.file, place.line) if place else (None, None)
    inside = at.inside if at is not None else None
    facts = {**_chain_facts(at, made, state), **facts_of(dataset, state, inside)}
    state.writer.add(
        "datasets", (number, _kind(dataset), file, line, json.dumps(inputs), json.dumps(facts))
    )
    return number


def _kind(dataset: Any) -> str:
    return type(dataset).__name__.strip("_").removesuffix("Dataset")


def _chain_facts(at: Written | None, made: list[int], state: State) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if at is not None:
        for file in {file for file, _ in at.via}:
            state.writer.add_source(file)
        facts = {"via": [list(line) for line in at.via], "call": at.call, "made_in": at.made_in}
    facts["sub"] = made
    return {name: value for name, value in facts.items() if value}


def _inputs(dataset: Any) -> list[Any]:
    if type(dataset).__name__ == "_VariantDataset":
        source = _rewritten.get(dataset)
        return [] if source is None else [source]
    if any(base.__name__ == "DatasetV1Adapter" for base in type(dataset).__mro__):
        return [dataset._dataset]
    # A reader of files is made of other datasets, and only some of them tell.
    return list(getattr(dataset, "_impl", dataset)._inputs())


def _made_by_function(dataset: Any) -> list[Any]:
    """Return the datasets that a function returned when it was traced.

    Of one that comes out of a condition nobody knows; all that feed no other are candidates.
    """
    wrapper = function_wrapper(dataset)
    graph: Any = getattr(getattr(wrapper, "function", None), "graph", None)
    kept = getattr(graph, "_quickfit_datasets", ())
    if graph is None or not any(tensor.dtype.name == "variant" for tensor in graph.outputs):
        return []
    made = [source_of(tensor) for tensor in graph.outputs]
    returned = [d for d in kept if any(d._variant_tensor.op is op for op in made)]
    if returned and not _is_unknown(returned[-1]):
        return returned[-1:]
    used = [fed for d in kept for fed in _inputs(d)]
    left = [d for d in kept if not _is_unknown(d) and not any(d is fed for fed in used)]
    return left or _handed_in(graph, made)


def _is_unknown(dataset: Any) -> bool:
    return type(dataset).__name__ == "_VariantDataset" and _rewritten.get(dataset) is None


def _handed_in(graph: Any, made: list[Any]) -> list[Any]:
    """Return the datasets that a function returns although they were made outside of it."""
    variants = [outer for outer, inner in graph.captures if any(inner.op is op for op in made)]
    known = [reference() for reference in _written.keyrefs()] if variants else []
    return [
        dataset
        for dataset in known
        if dataset is not None and any(dataset._variant_tensor is v for v in variants)
    ][-1:]

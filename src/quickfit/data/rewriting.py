"""Rewrites a tf.data chain so that the same elements come in the same order, sooner.

What is done is legal by the chain alone: nothing is iterated, no function is traced, no seed is
drawn. A stage is rebuilt on another input from what tf.data made of it the first time.

- A part of the chain that gives the same elements in every pass is kept in memory.
- A reshuffling `shuffle` in front of functions of one element is moved behind them: which element
  comes when depends on their numbers and not on what is in them. Then their results can be kept.

A part is repeatable where all its functions are stateless: no random numbers, no variables or
tables, no Python. The files that it reads are named, so that the caller can see whether they
change.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from quickfit.data.traced_functions import function_operations, function_traits

__all__ = [
    "Rewriting",
    "elements_per_step",
    "ends_unseen",
    "rebuild_stage",
    "rewrite_exactly",
    "why_not_repeatable",
]

# TensorFlow has no types that a checker could read: datasets, functions and tensors are Any here.
_OPS = "tensorflow.python.ops.gen_dataset_ops"
_DATASETS = "tensorflow.python.data.ops.dataset_ops"
# Attributes of a dataset that hold the function it was given.
_FUNCTIONS = ("_map_func", "_predicate")
_READING_OPS = {"ReadFile", "WholeFileReaderV2"}
# Sources whose elements are in memory, and those that read files.
_MEMORY_SOURCES = {"TensorSlice", "Tensor", "Range"}
_FILE_SOURCES = {"TFRecordDatasetV2", "TextLineDatasetV2", "FixedLengthRecordDatasetV2"}
# Stages without a function that give the same for the same input.
_PLAIN = {
    *("Batch", "ParallelBatch", "PaddedBatch", "Take", "Skip", "Prefetch", "Options"),
    *("Zip", "Concatenate", "Cache", "Unbatch"),
}
_MAPS = {"Map", "ParallelMap"}
_FUNCTION_STAGES = {*_MAPS, "Filter", "FlatMap", "Interleave", "ParallelInterleave"}
# A function of one element may be moved across these: they do not look into elements.
_BLIND = {"Prefetch", "Options", "Repeat"}
_MAX_STAGES = 100
# How a script calls stages whose names are others.
_METHODS = {
    "ParallelMap": "map",
    "ParallelInterleave": "interleave",
    "FlatMap": "flat_map",
    "TensorSlice": "from_tensor_slices",
    "Tensor": "from_tensors",
    "ParallelBatch": "batch",
    "PaddedBatch": "padded_batch",
}


@dataclass
class Rewriting:
    """What became of a chain.

    Args:
        dataset: gives the same elements in the same order; None: the chain is left alone.
        what: what was done, in words; where it is left alone, what the chain is.
        stage: the stage of the script that it is about.
        reason: why it is left alone.
        cause: the cause whose edit does the same.
        kept: the part of the chain whose elements are kept in memory.
        files: what that part reads.
        origins: of every stage that was made, the one of the script it was made of.
    """

    dataset: Any = None
    what: str = ""
    stage: Any = None
    reason: str = ""
    cause: str = ""
    kept: Any = None
    files: tuple[str, ...] = ()
    origins: list[tuple[Any, Any]] = field(default_factory=list)


def rewrite_exactly(dataset: Any) -> Rewriting:
    """Return the chain with its repeatable part kept in memory, or why it is left alone."""
    stages = list(reversed(list(_unary_chain(dataset))))
    if dataset.options().deterministic is False:
        return Rewriting(stage=dataset, what="the dataset", reason="its order is not fixed")
    count = _repeatable_length(stages)
    if count == 0:
        stage, why = _first_hindrance(stages[0])
        return Rewriting(stage=stage, what=describe(stage), reason=why)
    lifted = _liftable_maps(stages, count)
    prefix = stages[:count]
    # What only buffers is worth nothing in front of a cache.
    while len(prefix) > 1 and _kind(prefix[-1]) in ("Prefetch", "Options") and not lifted:
        prefix.pop()
        count -= 1
    rest = [stage for stage in stages[count:] if stage not in lifted]
    worker = _last_worker([*prefix, *lifted])
    hindrance = _why_not_kept(worker, prefix, rest, stages[count:])
    if hindrance is not None:
        stage, why = hindrance
        return Rewriting(stage=stage, what=describe(stage), reason=why)
    files, unseen = _files_read([*prefix, *lifted])
    if unseen:
        return Rewriting(
            stage=worker, what=describe(worker), reason="it reads files whose names are not known"
        )
    result = Rewriting(stage=worker, cause="missing-cache", files=files)
    current = prefix[-1]
    for stage in lifted:
        current = _rebuilt(stage, current, result)
    result.kept = current
    current = sys.modules[_DATASETS].DatasetV2.cache(current)
    result.origins.append((current, worker))
    for stage in rest:
        current = _rebuilt(stage, current, result)
    result.dataset = current
    moved = " and `shuffle` moved behind it" if lifted else ""
    result.what = f"what {describe(worker)} gives kept in memory{moved}"
    return result


def _unary_chain(dataset: Any) -> Iterator[Any]:
    """Yield a dataset and what feeds it, as far as there is one input each."""
    for _ in range(_MAX_STAGES):
        yield dataset
        inputs = dataset._inputs()
        if _kind(dataset) in _FILE_SOURCES or len(inputs) != 1:
            return
        dataset = inputs[0]


def _kind(dataset: Any) -> str:
    name = type(dataset).__name__.strip("_")
    return name if name in _FILE_SOURCES else name.removesuffix("Dataset")


def describe(stage: Any) -> str:
    """Return what a stage is called in the script: `map(load)`."""
    kind = _kind(stage)
    if _is_generator(stage):
        return "`from_generator`"
    function = _wrapper(stage)
    called = getattr(getattr(function, "_func", None), "__name__", "")
    name = _METHODS.get(kind, kind.lower())
    return f"`{name}({'' if called == '<lambda>' else called})`" if called else f"`{name}`"


def _is_generator(stage: Any) -> bool:
    """Tell whether a stage is what `from_generator` ends in."""
    function = getattr(_wrapper(stage), "_func", None)
    return "from_generator" in getattr(function, "__qualname__", "")


def _wrapper(stage: Any) -> Any:
    return next((getattr(stage, n) for n in _FUNCTIONS if getattr(stage, n, None)), None)


def _repeatable_length(stages: list[Any]) -> int:
    for count, stage in enumerate(stages):
        is_first = count == 0
        if (_first_hindrance(stage) if is_first else _own_hindrance(stage)) is not None:
            return count
    return len(stages)


def why_not_repeatable(stage: Any) -> str | None:
    """Return why a stage may give other elements in another pass; None: it cannot."""
    kind = _kind(stage)
    if kind in _MEMORY_SOURCES or kind in _FILE_SOURCES:
        return None
    if kind == "Cache" and stage._filename.numpy():
        return "it caches in a file"
    if kind in _PLAIN:
        return None
    if _is_generator(stage):
        return "a Python generator makes its elements"
    if kind in _FUNCTION_STAGES:
        if getattr(stage, "_deterministic", "") == "false":
            return "its order is not fixed"
        wrapper = _wrapper(stage)
        if any(tensor.dtype.name == "resource" for tensor in wrapper.function.captured_inputs):
            return "its function uses a variable or a table"
        traits = function_traits(wrapper)
        return None if traits.is_pure else f"its function {traits.reason}"
    if kind == "Shuffle":
        return "it is shuffled anew in every pass"
    if kind == "Repeat":
        return "it repeats"
    return "quickfit does not know this stage"


def ends_unseen(dataset: Any) -> bool:
    """Tell whether the end of an iterator does nothing that the script could see."""
    if _is_generator(dataset) or (_kind(dataset) == "Cache" and dataset._filename.numpy()):
        return False
    wrapper = _wrapper(dataset)
    if wrapper is not None and not function_traits(wrapper).is_runnable:
        return False
    known = {*_MEMORY_SOURCES, *_FILE_SOURCES, *_PLAIN, *_FUNCTION_STAGES, "Shuffle", "Repeat"}
    inputs = () if _kind(dataset) in _FILE_SOURCES else dataset._inputs()
    return _kind(dataset) in known and all(map(ends_unseen, inputs))


def elements_per_step(result: Rewriting) -> int:
    """Return how many of the kept elements one element of the whole chain is made of."""
    count = 1
    for _, stage in result.origins:
        if _kind(stage) == "Batch":
            count *= int(stage._batch_size)
    return count


def _own_hindrance(stage: Any) -> tuple[Any, str] | None:
    why = why_not_repeatable(stage)
    return None if why is None else (stage, why)


def _first_hindrance(stage: Any) -> Any:
    """Return the first stage at or above one that is not repeatable, and why; None: all are."""
    for above in () if _kind(stage) in _FILE_SOURCES else stage._inputs():
        found = _first_hindrance(above)
        if found is not None:
            return found
    return _own_hindrance(stage)


def _liftable_maps(stages: list[Any], count: int) -> list[Any]:
    """Return the maps that the shuffle behind the first stages may be moved behind."""
    lifted: list[Any] = []
    if count < len(stages) and _kind(stages[count]) == "Shuffle":
        for stage in stages[count + 1 :]:
            if _kind(stage) in _MAPS and why_not_repeatable(stage) is None:
                lifted.append(stage)
            elif _kind(stage) not in _BLIND:
                break
    return lifted


def _last_worker(stages: list[Any]) -> Any:
    """Return the last stage behind no cache that computes or reads something; None: none does."""
    for stage in reversed(stages):
        kind = _kind(stage)
        if kind == "Cache":
            return None
        if kind in _FUNCTION_STAGES or kind in _FILE_SOURCES:
            return stage
        if kind == "Zip" or kind == "Concatenate":
            found = [_last_worker(list(reversed(list(_unary_chain(i))))) for i in stage._inputs()]
            return next((one for one in found if one is not None), None)
    return None


def _why_not_kept(
    worker: Any, prefix: list[Any], rest: list[Any], behind: list[Any]
) -> tuple[Any, str] | None:
    if worker is None:
        if behind:
            stage = next((s for s in behind if _kind(s) not in ("Shuffle", "Repeat")), behind[0])
            why = why_not_repeatable(stage)
            if why is not None:
                return stage, why
        return prefix[-1], "its elements are in memory already"
    for stage in rest:
        kind = _kind(stage)
        if kind == "Shuffle" and not hasattr(stage, "_quickfit_seeds"):
            return stage, "the state of its shuffle cannot be shared"
        if kind == "Take":
            return stage, "only a part of it is taken, so a cache would never be filled"
        if kind == "Cache":
            return stage, "it is cached further on"
        if kind not in _BUILDERS:
            return stage, "quickfit does not rebuild this stage"
    return None


def _files_read(stages: list[Any]) -> tuple[tuple[str, ...], bool]:
    """Return the files that stages read, and whether there may be others."""
    names: list[str] = []
    reads = False
    queue = list(stages)
    seen: set[int] = set()
    while queue:
        stage = queue.pop()
        if id(stage) in seen:
            continue
        seen.add(id(stage))
        kind = _kind(stage)
        if kind in _FILE_SOURCES:
            reads = True
            names += _texts([stage._filenames])
            continue
        queue += stage._inputs()
        if kind == "TensorSlice":
            names += _texts(getattr(stage, "_tensors", ()))
        wrapper = _wrapper(stage)
        if wrapper is not None:
            types = {operation.type for operation in function_operations(wrapper) or ()}
            reads = reads or bool(types & _READING_OPS) or any("Dataset" in t for t in types)
    if not reads:
        return (), False
    files = tuple(name for name in names if os.path.isfile(name))
    return files, not files or len(files) < len(names)


def _texts(tensors: Any) -> list[str]:
    found: list[str] = []
    for tensor in tensors:
        if getattr(tensor, "dtype", None) is not None and tensor.dtype.name == "string":
            found += [os.fsdecode(value) for value in tensor.numpy().reshape(-1).tolist()]
    return found


def _rebuilt(stage: Any, source: Any, result: Rewriting) -> Any:
    made = rebuild_stage(stage, source)
    result.origins.append((made, stage))
    return made


def rebuild_stage(stage: Any, source: Any) -> Any:
    """Return a stage that does with `source` what `stage` does with its input."""
    return _BUILDERS[_kind(stage)](stage, source)


def _copy(stage: Any, source: Any, variant: Any) -> Any:
    """Return a dataset like `stage` around a variant that was made for it."""
    made = object.__new__(type(stage))
    own = {"_input_dataset", "_variant_tensor_attr", "_graph_attr", "_options_attr"}
    for name, value in vars(stage).items():
        if not name.startswith("_self_") and name not in own and name != "_variant_tracker":
            object.__setattr__(made, name, value)
    made._input_dataset = source
    sys.modules[_DATASETS].UnaryDataset.__init__(made, source, variant)
    return made


def _rebuild_map(stage: Any, source: Any) -> Any:
    function = stage._map_func.function
    variant = sys.modules[_OPS].map_dataset(
        source._variant_tensor,
        function.captured_inputs,
        f=function,
        use_inter_op_parallelism=stage._use_inter_op_parallelism,
        preserve_cardinality=stage._preserve_cardinality,
        force_synchronous=stage._force_synchronous,
        **stage._common_args,
    )
    return _copy(stage, source, variant)


def _rebuild_parallel_map(stage: Any, source: Any) -> Any:
    function = stage._map_func.function
    variant = sys.modules[_OPS].parallel_map_dataset_v2(
        source._variant_tensor,
        function.captured_inputs,
        f=function,
        num_parallel_calls=stage._num_parallel_calls,
        deterministic=stage._deterministic,
        use_inter_op_parallelism=stage._use_inter_op_parallelism,
        preserve_cardinality=stage._preserve_cardinality,
        use_unbounded_threadpool=stage._use_unbounded_threadpool,
        **stage._common_args,
    )
    return _copy(stage, source, variant)


def _rebuild_filter(stage: Any, source: Any) -> Any:
    function = stage._predicate.function
    variant = sys.modules[_OPS].filter_dataset(
        source._variant_tensor,
        other_arguments=function.captured_inputs,
        predicate=function,
        **stage._common_args,
    )
    return _copy(stage, source, variant)


def _rebuild_shuffle(stage: Any, source: Any) -> Any:
    """Return a shuffle that draws from the same stream of seeds as the script's own."""
    variant = sys.modules[_OPS].shuffle_dataset_v3(
        source._variant_tensor,
        buffer_size=stage._buffer_size,
        seed=stage._seed,
        seed2=stage._seed2,
        seed_generator=stage._quickfit_seeds,
        reshuffle_each_iteration=stage._reshuffle_each_iteration,
        **stage._common_args,
    )
    return _copy(stage, source, variant)


def _rebuild_options(stage: Any, source: Any) -> Any:
    return type(stage)(source, stage.options())


# What makes a stage on another input, by its kind. Those without a function or a seed are made by
# their own class.
_BUILDERS: dict[str, Any] = {
    "Map": _rebuild_map,
    "ParallelMap": _rebuild_parallel_map,
    "Filter": _rebuild_filter,
    "Shuffle": _rebuild_shuffle,
    "Options": _rebuild_options,
    "Batch": lambda stage, source: type(stage)(source, stage._batch_size, stage._drop_remainder),
    "Prefetch": lambda stage, source: type(stage)(source, int(stage._buffer_size)),
    "Repeat": lambda stage, source: type(stage)(source, stage._count),
    "Skip": lambda stage, source: type(stage)(source, stage._count),
}

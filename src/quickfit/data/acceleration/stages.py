"""A tf.data chain as a graph of stages that can be changed and built again.

What is read here is not public in TensorFlow. Functions are used as they were traced, and seeds as
they were drawn, so that the copy of a chain gives what the chain gives. A stage that is not known
is used as it is, together with all before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quickfit.data.graph import Dataset
from quickfit.data.speed.chain import function_facts, kind_of_dataset
from quickfit.data.traced_functions import PURE, FunctionTraits, function_traits
from quickfit.units import count as format_count

Build = Callable[[Sequence[Dataset]], Dataset]
_NO_STATE = (
    *("tensorslice", "tensor", "range", "sparsetensorslice", "tfrecord", "textline"),
    *("fixedlengthrecord", "map", "parallelmap", "interleave", "parallelinterleave", "flatmap"),
    *("filter", "batch", "parallelbatch", "paddedbatch", "take", "skip", "shard", "window"),
    *("prefetch", "options", "zip", "concatenate", "unbatch", "takewhile", "repeat", "scan"),
    *("groupbywindow", "rebatch", "ignoreerrors", "unique", "assertcardinality", "densetoragged"),
    *("enumerate", "densetosparse"),
)


@dataclass(frozen=True, eq=False)
class Stage:
    """One operation of a chain.

    Args:
        kind: the operation, as `map` or `parallelbatch`.
        dataset: the object that the user has; None for a stage that was added.
        inputs: the stages before it.
        build: makes the dataset from those of the inputs; None if it can only be used as it is.
        traits: of its own function or state.
        label: for people, as `map(parse)`.
        where: the user's file and line, if they are known.
        note: what was done with it, or why nothing was.
    """

    kind: str
    dataset: Dataset
    inputs: tuple[Stage, ...] = ()
    build: Build | None = None
    traits: FunctionTraits = PURE
    label: str = ""
    where: tuple[str, int] | None = None
    note: str = ""
    change: str = ""  # which kind of change made it: "parallel", "batched", "cache" or ""

    @property
    def source(self) -> Stage:
        """The stage before it, of which there is one."""
        return self.inputs[0]


def read_stages(dataset: Dataset) -> Stage:
    """Return the last stage of a dataset's chain."""
    return _read(dataset, {})


def _read(dataset: Dataset, known: dict[int, Stage]) -> Stage:
    if id(dataset) in known:
        return known[id(dataset)]
    is_parallel = type(dataset).__name__.startswith("_Parallel")
    kind = "parallel" * is_parallel + kind_of_dataset(dataset)
    # A class made on top of TensorFlow's may carry more than its chain.
    is_plain = type(dataset).__module__.startswith("tensorflow.")
    inputs = tuple(_read(part, known) for part in _inputs_of(dataset))
    build = _BUILDERS.get(kind) if is_plain else None
    functions = _functions_of(dataset)
    label, where = _label_of(dataset, kind, functions)
    traits = _traits_of(dataset, kind, functions, is_plain=is_plain)
    # What cannot be copied is run as it is: its shuffles would go on, its caches fill.
    before = [one for part in inputs for one in all_stages(part)]
    if build is None and traits.is_runnable and any(_has_state(one) for one in before):
        traits = FunctionTraits(False, False, False, "has state and cannot be copied")
    stage = Stage(
        kind=kind,
        dataset=dataset,
        inputs=inputs,
        build=None if build is None else _bind(build, dataset),
        traits=traits,
        label=label,
        where=where,
    )
    known[id(dataset)] = stage
    return stage


def _has_state(stage: Stage) -> bool:
    return stage.kind == "cache" or "with a seed" in stage.traits.reason


def _bind(build: Callable[[Dataset, Sequence[Dataset]], Dataset], dataset: Dataset) -> Build:
    return lambda inputs: build(dataset, inputs)


def _inputs_of(dataset: Dataset) -> list[Dataset]:
    files = getattr(dataset, "_filenames", None)
    if files is not None and hasattr(files, "element_spec"):
        return [files]
    try:
        return list(dataset._inputs())
    except (AttributeError, NotImplementedError, TypeError):
        return []


def _functions_of(dataset: Dataset) -> list[Any]:
    try:
        return list(dataset._functions())
    except (AttributeError, NotImplementedError, TypeError):
        return []


def _traits_of(
    dataset: Dataset, kind: str, functions: list[Any], *, is_plain: bool
) -> FunctionTraits:
    if kind == "shuffle":
        is_seeded = any(int(seed) for seed in (dataset._seed, dataset._seed2))
        return FunctionTraits(False, False, True, "shuffles" + " with a seed" * is_seeded)
    if kind == "cache":
        if bytes(dataset._filename.numpy()):
            return FunctionTraits(False, False, False, "writes a file")
        return PURE
    if not is_plain:
        return FunctionTraits(False, False, False, "is a dataset with a class of its own")
    if kind not in _NO_STATE:
        return FunctionTraits(False, False, False, "is not known here")
    traits = [function_traits(function) for function in functions]
    bad = [one for one in traits if not one.is_pure]
    return next((one for one in bad if not one.is_runnable), bad[0] if bad else PURE)


_SHOWN_NUMBERS = ("_buffer_size", "_batch_size", "_count", "_size", "_cycle_length", "_num_shards")
_LABELS = {
    "parallelmap": "map",
    "parallelinterleave": "interleave",
    "parallelbatch": "batch",
    "paddedbatch": "padded_batch",
    "flatmap": "flat_map",
    "tensorslice": "from_tensor_slices",
    "tensor": "from_tensors",
    "tfrecord": "TFRecordDataset",
    "textline": "TextLineDataset",
    "takewhile": "take_while",
    "ignoreerrors": "ignore_errors",
    "groupbywindow": "group_by_window",
}


def _label_of(
    dataset: Dataset, kind: str, functions: list[Any]
) -> tuple[str, tuple[str, int] | None]:
    """Return what a stage is called, and the place of its function."""
    name = _LABELS.get(kind, kind)
    function = getattr(functions[0], "_func", None) if functions else None
    if function is not None:
        facts = function_facts(function)
        name = "from_generator" if facts.get("from_generator") else name
        where = (facts["file"], facts["line"]) if "file" in facts else None
        return f"{name}({facts['function'].strip('<>')})", where
    for attribute in _SHOWN_NUMBERS:
        value = getattr(dataset, attribute, None)
        if value is not None and hasattr(value, "numpy") and not value.shape.rank:
            number = value.numpy()
            if isinstance(number, bytes):
                continue
            shown = {-1: "", -2: ""}.get(int(number), format_count(int(number)))
            return f"{name}({shown})", None
    return name, None


class Realizer:
    """Makes datasets of stages; a stage that two others use is made once.

    Args:
        is_fresh: makes even those anew that were not changed, with their state as at the
            beginning; the user's own shuffles and caches are not touched then.
    """

    def __init__(self, *, is_fresh: bool) -> None:
        self._is_fresh = is_fresh
        self._made: dict[int, Dataset] = {}
        self._kept: list[Stage] = []  # so that no two stages have the same id

    def realize(self, stage: Stage) -> Dataset:
        """Return the dataset of a stage."""
        if id(stage) not in self._made:
            self._kept.append(stage)
            self._made[id(stage)] = self._make(stage)
        return self._made[id(stage)]

    def _make(self, stage: Stage) -> Dataset:
        if stage.build is None:
            return stage.dataset
        inputs = [self.realize(one) for one in stage.inputs]
        before = () if stage.dataset is None else _inputs_of(stage.dataset)
        is_same = list(map(id, before)) == list(map(id, inputs))
        if is_same and not stage.change and not self._is_fresh:
            return stage.dataset
        return stage.build(inputs)


def map_stages(stage: Stage, change: Callable[[Stage], Stage]) -> Stage:
    """Return a chain with each stage changed, the first ones first."""
    known: dict[int, Stage] = {}

    def walk(one: Stage) -> Stage:
        if one.build is None:  # what is before it cannot be changed
            return one
        if id(one) not in known:
            inputs = tuple(walk(part) for part in one.inputs)
            is_same = all(a is b for a, b in zip(inputs, one.inputs, strict=True))
            known[id(one)] = change(one if is_same else replace(one, inputs=inputs))
        return known[id(one)]

    return walk(stage)


def all_stages(stage: Stage) -> list[Stage]:
    """Return the stages of a chain, the first ones first."""
    found: list[Stage] = []

    def walk(one: Stage) -> None:
        for part in one.inputs:
            walk(part)
        if not any(one is known for known in found):
            found.append(one)

    walk(stage)
    return found


def rebuild(
    dataset: Dataset, inputs: Sequence[Dataset], variant: Any, **attributes: Any
) -> Dataset:
    """Return a dataset of the same class with other inputs.

    Args:
        dataset: it is like this one.
        inputs: its inputs.
        variant: makes the tensor of TensorFlow from it.
        attributes: those that differ.
    """
    from tensorflow.python.data.ops import dataset_ops

    kind = attributes.pop("kind", type(dataset))
    copy = kind.__new__(kind)
    own = {name: value for name, value in vars(dataset).items() if not name.startswith("_self_")}
    vars(copy).update(own, _input_dataset=inputs[0], **attributes)
    dataset_ops.DatasetV2.__init__(copy, variant(copy, inputs[0]._variant_tensor))
    return copy


def _with_function(make: Callable[..., Any]) -> Callable[[Dataset, Sequence[Dataset]], Dataset]:
    """Return a builder of datasets that call a function; it stays as it was traced."""

    def build(dataset: Dataset, inputs: Sequence[Dataset]) -> Dataset:
        return rebuild(dataset, inputs, make)

    return build


def map_variant(own: Dataset, source: Any) -> Any:
    """Return the tensor of a sequential map."""
    return _operations().map_dataset(
        source,
        own._map_func.function.captured_inputs,
        f=own._map_func.function,
        use_inter_op_parallelism=own._use_inter_op_parallelism,
        preserve_cardinality=own._preserve_cardinality,
        force_synchronous=getattr(own, "_force_synchronous", False),
        **own._common_args,
    )


def parallel_map_variant(own: Dataset, source: Any) -> Any:
    """Return the tensor of a parallel map."""
    return _operations().parallel_map_dataset_v2(
        source,
        own._map_func.function.captured_inputs,
        f=own._map_func.function,
        num_parallel_calls=own._num_parallel_calls,
        deterministic=own._deterministic,
        use_inter_op_parallelism=own._use_inter_op_parallelism,
        preserve_cardinality=own._preserve_cardinality,
        use_unbounded_threadpool=getattr(own, "_use_unbounded_threadpool", False),
        **own._common_args,
    )


def _interleave_variant(own: Dataset, source: Any) -> Any:
    return _operations().interleave_dataset(
        source,
        own._map_func.function.captured_inputs,
        own._cycle_length,
        own._block_length,
        f=own._map_func.function,
        **own._common_args,
    )


def parallel_interleave_variant(own: Dataset, source: Any) -> Any:
    """Return the tensor of a parallel interleave."""
    return _operations().parallel_interleave_dataset_v4(
        source,
        own._map_func.function.captured_inputs,
        own._cycle_length,
        own._block_length,
        own._buffer_output_elements,
        own._prefetch_input_elements,
        own._num_parallel_calls,
        f=own._map_func.function,
        deterministic=own._deterministic,
        **own._common_args,
    )


def _flat_map_variant(own: Dataset, source: Any) -> Any:
    function = own._map_func.function
    return _operations().flat_map_dataset(
        source, function.captured_inputs, f=function, **own._common_args
    )


def _filter_variant(own: Dataset, source: Any) -> Any:
    function = own._predicate.function
    return _operations().filter_dataset(
        source, other_arguments=function.captured_inputs, predicate=function, **own._common_args
    )


def _shuffle_variant(own: Dataset, source: Any) -> Any:
    """Return the tensor of a shuffle with the same seeds, at its first epoch."""
    return _operations().shuffle_dataset_v3(
        source,
        buffer_size=own._buffer_size,
        seed=own._seed,
        seed2=own._seed2,
        seed_generator=_operations().dummy_seed_generator(),
        reshuffle_each_iteration=own._reshuffle_each_iteration,
        **own._common_args,
    )


def _padded_batch_variant(own: Dataset, source: Any) -> Any:
    from tensorflow.python.data.util import nest, structure

    return _operations().padded_batch_dataset_v2(
        source,
        batch_size=own._batch_size,
        padded_shapes=nest.flatten(own._padded_shapes),
        padding_values=nest.flatten(own._padding_values),
        drop_remainder=own._drop_remainder,
        output_shapes=structure.get_flat_tensor_shapes(own._structure),
        metadata=own._metadata.SerializeToString(),
    )


def _parallel_batch_variant(own: Dataset, source: Any) -> Any:
    return _operations().parallel_batch_dataset(
        source,
        batch_size=own._batch_size,
        num_parallel_calls=own._num_parallel_calls,
        drop_remainder=own._drop_remainder,
        deterministic=own._deterministic,
        **own._common_args,
    )


def _window_variant(own: Dataset, source: Any) -> Any:
    return _operations().window_dataset(
        source,
        size=own._size,
        shift=own._shift,
        stride=own._stride,
        drop_remainder=own._drop_remainder,
        **own._common_args,
    )


def _operations() -> Any:
    from tensorflow.python.ops import gen_dataset_ops

    return gen_dataset_ops


def _same_class(*names: str) -> Callable[[Dataset, Sequence[Dataset]], Dataset]:
    """Return a builder that calls the constructor with attributes of these names."""

    def build(dataset: Dataset, inputs: Sequence[Dataset]) -> Dataset:
        values = [getattr(dataset, name) for name in names]
        return type(dataset)(*inputs, *values, name=dataset._name)

    return build


def _zip(dataset: Dataset, inputs: Sequence[Dataset]) -> Dataset:
    from tensorflow.python.data.util import nest

    return type(dataset)(nest.pack_sequence_as(dataset._datasets, inputs), name=dataset._name)


def _options(dataset: Dataset, inputs: Sequence[Dataset]) -> Dataset:
    return type(dataset)(inputs[0], dataset.options(), name=dataset._name)


def _prefetch(dataset: Dataset, inputs: Sequence[Dataset]) -> Dataset:
    return type(dataset)(inputs[0], int(dataset._buffer_size), name=dataset._name)


_BUILDERS: dict[str, Callable[[Dataset, Sequence[Dataset]], Dataset]] = {
    "map": _with_function(map_variant),
    "parallelmap": _with_function(parallel_map_variant),
    "interleave": _with_function(_interleave_variant),
    "flatmap": _with_function(_flat_map_variant),
    "filter": _with_function(_filter_variant),
    "shuffle": _with_function(_shuffle_variant),
    "paddedbatch": _with_function(_padded_batch_variant),
    "parallelbatch": _with_function(_parallel_batch_variant),
    "window": _with_function(_window_variant),
    "batch": _same_class("_batch_size", "_drop_remainder"),
    "cache": _same_class("_filename"),
    "repeat": _same_class("_count"),
    "take": _same_class("_count"),
    "skip": _same_class("_count"),
    "shard": _same_class("_num_shards", "_index"),
    "unbatch": _same_class(),
    "concatenate": _same_class(),
    "zip": _zip,
    "options": _options,
    "prefetch": _prefetch,
}

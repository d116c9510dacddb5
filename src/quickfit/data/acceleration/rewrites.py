"""The changes that `accelerate` can make to a chain; each keeps the elements and their order.

Every function returns a chain of stages; what was changed says so in its note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quickfit.data.acceleration.stages import (
    Build,
    Stage,
    all_stages,
    map_stages,
    parallel_interleave_variant,
    parallel_map_variant,
    rebuild,
)
from quickfit.data.graph import Dataset, without_autograph
from quickfit.data.traced_functions import PURE, function_operations
from quickfit.machine import whole_cores

_MAPS = ("map", "parallelmap")
_BATCHES = ("batch", "parallelbatch")
# What is in memory already; nothing is gained by keeping it once more.
_IN_MEMORY = ("tensorslice", "tensor", "range")
# Stages behind which a cache holds what it would hold before them.
_FREE = ("prefetch", "options", "assertcardinality")
# Each row of a batch becomes exactly what it would have become alone: no rounding, no order of
# summing and no approximation depends on the rows beside it.
_ROWWISE_OPS = frozenset(
    {
        *("Placeholder", "Const", "Identity", "IdentityN", "NoOp", "StopGradient", "Cast"),
        *("PartitionedCall", "StatefulPartitionedCall", "EnsureShape"),
        *("Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "FloorDiv", "FloorMod", "Neg", "Abs"),
        *("Sign", "Square", "Maximum", "Minimum", "ClipByValue", "Floor", "Ceil", "Round", "Rint"),
        *("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"),
        *("LogicalAnd", "LogicalOr", "LogicalNot", "Select", "SelectV2", "IsNan", "IsFinite"),
        *("BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"),
        *("OneHot", "ZerosLike", "OnesLike", "Fill", "Max", "Min", "All", "Any", "ArgMax"),
        *("Reshape", "ExpandDims", "Squeeze", "StridedSlice", "Slice", "Transpose", "Pack"),
        *("Unpack", "ConcatV2", "Split", "SplitV", "Tile", "Pad", "PadV2", "ReverseV2", "GatherV2"),
        *("Shape", "Size", "Rank", "ParseExampleV2", "DecodeCSV"),
        *("DecodeRaw", "StringToNumber"),
    }
)


def parallel_calls(top: Stage, *, keep_order: bool) -> Stage:
    """Let maps and interleaves that are called one at a time be called at the same time.

    tf.data does that by itself for maps without state, unless options forbid it.
    """
    order = "true" if keep_order else "false"
    options = top.dataset.options()
    optimization = options.experimental_optimization
    is_tuned = options.autotune.enabled is not False
    flags = (optimization.apply_default_optimizations, optimization.map_parallelization)
    is_automatic = is_tuned and keep_order and False not in flags
    calls = -1 if is_tuned else whole_cores()

    def change(stage: Stage) -> Stage:
        is_free = stage.traits.is_parallel and not (is_automatic and stage.traits.is_pure)
        if stage.kind == "map" and is_free and not stage.dataset._force_synchronous:
            return _parallel_map(stage, order, calls)
        if stage.kind == "interleave" and stage.traits.is_pure:
            # Of a cycle whose length tf.data chooses, it chooses another one when it is parallel.
            cycle = int(stage.dataset._cycle_length)
            if cycle > 0:
                return _parallel_interleave(stage, order, min(calls, cycle))
        return stage

    return map_stages(top, change)


def _parallel_map(stage: Stage, order: str, calls: int) -> Stage:
    def build(inputs: Sequence[Dataset]) -> Dataset:
        from tensorflow.python.data.ops import map_op

        return rebuild(
            stage.dataset,
            inputs,
            parallel_map_variant,
            kind=map_op._ParallelMapDataset,
            _num_parallel_calls=_number(calls),
            _deterministic=order,
            _use_unbounded_threadpool=False,
        )

    note = "several calls at a time" + ", in any order" * (order == "false")
    return replace(stage, kind="parallelmap", build=build, note=note, change="parallel")


def _parallel_interleave(stage: Stage, order: str, calls: int) -> Stage:
    def build(inputs: Sequence[Dataset]) -> Dataset:
        from tensorflow.python.data.ops import interleave_op

        return rebuild(
            stage.dataset,
            inputs,
            parallel_interleave_variant,
            kind=interleave_op._ParallelInterleaveDataset,
            _buffer_output_elements=_number(-1),
            _prefetch_input_elements=_number(-1),
            _num_parallel_calls=_number(calls),
            _deterministic=order,
        )

    note = "several at a time" + ", in any order" * (order == "false")
    return replace(stage, kind="parallelinterleave", build=build, note=note, change="parallel")


def _number(value: int) -> Any:
    import tensorflow as tf

    with tf.device("CPU"):
        return tf.constant(value, tf.int64)


def shuffles_first(top: Stage) -> Stage:
    """Move shuffles before pure maps: they mix what is small, and draw the same order.

    A shuffle draws places, whatever is in them. So the order of the elements is the same.
    """
    if _repeats(top):
        return top

    def change(stage: Stage) -> Stage:
        if stage.kind != "shuffle" or stage.build is None:
            return stage
        maps: list[Stage] = []
        below = stage.source
        while _may_follow_shuffle(below):
            maps.append(below)
            below = below.source
        if not maps:
            return stage
        note = f"moved before {maps[-1].label}: it mixes what is not decoded yet, in the same order"
        moved = replace(stage, inputs=(below,), note=note, change="batched")
        for one in reversed(maps):
            moved = replace(one, inputs=(moved,))
        return moved

    return map_stages(top, change)


def shuffles_last(top: Stage) -> Stage:
    """Move shuffles behind pure maps, in the same order, so that a cache can lie between."""
    if _repeats(top):
        return top

    def change(stage: Stage) -> Stage:
        if not _may_follow_shuffle(stage):
            return stage
        shuffle = stage.source
        if shuffle.kind != "shuffle" or shuffle.build is None:
            return stage
        note = f"moved behind {stage.label}, to mix what is kept; in the same order"
        below = replace(stage, inputs=shuffle.inputs)
        return replace(shuffle, inputs=(below,), note=note, change="cache")

    return map_stages(top, change)


def _repeats(top: Stage) -> bool:
    """Tell whether a chain repeats itself.

    tf.data makes one stage of a `shuffle` and a `repeat` that stand side by side, which draws other
    seeds; a shuffle that comes to stand there would give another order.
    """
    return any(one.kind == "repeat" for one in all_stages(top))


def _may_follow_shuffle(stage: Stage) -> bool:
    is_map = stage.kind in _MAPS and stage.build is not None and stage.traits.is_pure
    # A map that gives its results in any order mixes them itself.
    is_ordered = getattr(stage.dataset, "_deterministic", "true") != "false"
    return is_map and is_ordered and bool(getattr(stage.dataset, "_preserve_cardinality", False))


def whole_batches(top: Stage) -> Stage:
    """Let maps before a batch handle the whole batch, where that is provably the same."""

    def change(stage: Stage) -> Stage:
        if stage.kind not in _BATCHES or stage.build is None:
            return stage
        maps: list[Stage] = []
        below = stage.source
        while below.kind in _MAPS and below.build is not None and handles_rows(below):
            maps.append(below)
            below = below.source
        while maps and not _has_fixed_shape(maps[-1].source.dataset.element_spec):
            maps.pop()
        if not maps:
            return stage
        batch = replace(stage, inputs=(maps[-1].source,), build=_batch_build(stage))
        batch = replace(batch, note=f"before {maps[-1].label}", change="batched")
        for one in reversed(maps):
            note = "a whole batch in one call"
            built = _batched_map(one, stage)
            batch = replace(
                one, kind="parallelmap", inputs=(batch,), build=built, note=note, change="batched"
            )
        return batch

    return map_stages(top, change)


def handles_rows(stage: Stage) -> bool:
    """Tell whether the function of a map treats the rows of a batch as it treats elements."""
    if not stage.traits.is_pure:
        return False
    wrapper = stage.dataset._map_func
    operations = function_operations(wrapper)
    if operations is None or any(one.type not in _ROWWISE_OPS for one in operations):
        return False
    if any(map(_is_narrowing, operations)):
        return False
    # Of features without a length, whole batches are padded.
    if any(_has_open_features(one) for one in operations if one.type == "ParseExampleV2"):
        return False
    return _has_fixed_shape(wrapper.output_structure)


def _is_narrowing(operation: Any) -> bool:
    """Tell whether floats become small integers.

    What does not fit wraps one by one and saturates in whole vectors; neither is defined.
    """
    if operation.type != "Cast" or not operation.inputs[0].dtype.is_floating:
        return False
    target = operation.outputs[0].dtype
    return bool(target.is_integer and (target.size < 4 or target.name == "uint32"))


def _has_open_features(parsing: Any) -> bool:
    import tensorflow as tf

    if parsing.get_attr("num_sparse") or parsing.get_attr("ragged_value_types"):
        return True
    shapes = map(tf.TensorShape, parsing.get_attr("dense_shapes"))
    return not all(shape.is_fully_defined() for shape in shapes)


def _has_fixed_shape(spec: Any) -> bool:
    """Tell whether an element consists of tensors of known shapes."""
    import tensorflow as tf

    parts = tf.nest.flatten(spec)
    return all(type(one) is tf.TensorSpec and one.shape.is_fully_defined() for one in parts)


def _batch_build(stage: Stage) -> Build:
    def build(inputs: Sequence[Dataset]) -> Dataset:
        own = stage.dataset
        batched: Dataset = inputs[0].batch(
            int(own._batch_size), drop_remainder=bool(own._drop_remainder), name=own._name
        )
        return batched

    return build


def _teach_vectorized_map() -> None:
    """Add what `tf.vectorized_map` does not know: operations that treat each string alone."""
    import tensorflow as tf
    from tensorflow.python.ops.parallel_for import pfor

    def decode_raw(given: Any) -> Any:
        options = {name: given.op.get_attr(name) for name in ("out_type", "little_endian")}
        return pfor.wrap(tf.raw_ops.DecodeRaw(bytes=given.stacked_input(0), **options), True)

    def to_number(given: Any) -> Any:
        texts, dtype = given.stacked_input(0), given.op.get_attr("out_type")
        return pfor.wrap(tf.raw_ops.StringToNumber(string_tensor=texts, out_type=dtype), True)

    for name, convert in {"DecodeRaw": decode_raw, "StringToNumber": to_number}.items():
        if name not in pfor._pfor_converter_registry:
            pfor.RegisterPFor(name)(convert)


def _batched_map(stage: Stage, original: Stage) -> Build:
    """Return what builds a map of whole batches out of a map of elements."""
    import tensorflow as tf

    wrapper = stage.dataset._map_func
    # The size of a batch is in the shapes where the last one is dropped.
    rows = int(original.dataset._batch_size) if bool(original.dataset._drop_remainder) else None

    @without_autograph
    def call(*batches: Any) -> Any:
        _teach_vectorized_map()
        flat = tuple(tf.nest.flatten(batches))

        def one(row: Any) -> Any:
            return tuple(wrapper.function(*row))

        results = tf.vectorized_map(without_autograph(one), flat, fallback_to_while_loop=False)
        specs = tf.nest.flatten(wrapper.output_structure)
        for result, spec in zip(results, specs, strict=True):
            result.set_shape((rows, *spec.shape) if spec.shape.rank is not None else None)
        return tf.nest.pack_sequence_as(wrapper.output_structure, results)

    # Whatever the user's function is called.
    call.__name__ = getattr(wrapper._func, "__name__", "map")

    def build(inputs: Sequence[Dataset]) -> Dataset:
        return inputs[0].map(call, num_parallel_calls=-1, deterministic=True)

    return build


def pure_tops(top: Stage) -> list[Stage]:
    """Return the last stages up to which a chain gives the same elements in every epoch."""
    if is_pure_chain(top) and not _holds_datasets(top):
        return [top]
    found: list[Stage] = []
    if top.build is None:
        return found
    for stage in top.inputs:
        found += [one for one in pure_tops(stage) if not any(one is other for other in found)]
    return found


def is_pure_chain(top: Stage) -> bool:
    """Tell whether a chain gives the same finite elements in every epoch."""
    return all(one.traits.is_pure and one.kind != "repeat" for one in all_stages(top))


def _holds_datasets(stage: Stage) -> bool:
    """Tell whether an element holds datasets, as a window does."""
    import tensorflow as tf

    spec = stage.dataset.element_spec
    return any(isinstance(one, tf.data.DatasetSpec) for one in tf.nest.flatten(spec))


def is_worth_keeping(stage: Stage) -> bool:
    """Tell whether a cache behind a stage would hold anything that takes work to make."""
    while stage.kind in _FREE:
        stage = stage.source
    return stage.kind not in (*_IN_MEMORY, "cache")


def _build_cache(inputs: Sequence[Dataset]) -> Dataset:
    """Return a cache that is never taken for whole while it is not.

    After an element that failed, tf.data's threads may run on to the end of the data, and the cache
    would be used without that element.
    """
    import tensorflow as tf

    below = inputs[0]
    length = int(below.cardinality())
    if length >= 0:
        below = below.apply(tf.data.experimental.assert_cardinality(length))
    return below.cache()


def caches_behind(top: Stage, places: Sequence[tuple[Stage, str]]) -> Stage:
    """Put a cache behind some stages, in place of those before them.

    Args:
        top: the chain.
        places: the stages, with what is to be said of each cache.
    """
    notes = {id(stage): note for stage, note in places}
    inside = [one for stage, _ in places for one in all_stages(stage)]
    known: dict[int, Stage] = {}

    def walk(stage: Stage) -> Stage:
        if id(stage) not in known:
            below = stage
            if stage.build is not None:
                below = replace(stage, inputs=tuple(walk(part) for part in stage.inputs))
            if stage.kind == "cache" and any(stage is one for one in inside):
                below = below.source
            if id(stage) in notes:
                below = Stage(
                    kind="cache",
                    dataset=None,
                    inputs=(below,),
                    build=_build_cache,
                    label="cache",
                    note=notes[id(stage)],
                    change="cache",
                )
            known[id(stage)] = below
        return known[id(stage)]

    return walk(top)


def prefetched(top: Stage, *, device: str | None) -> Stage:
    """Make elements ahead of the training, where that is not asked for yet."""
    below = top
    while below.kind == "options":
        below = below.source
    if below.kind == "prefetch" and device is None:
        return top

    def build(inputs: Sequence[Dataset]) -> Dataset:
        import tensorflow as tf

        if device is not None:
            return inputs[0].apply(tf.data.experimental.prefetch_to_device(device))
        return inputs[0].prefetch(tf.data.AUTOTUNE)

    label = "prefetch()" if device is None else f"prefetch_to_device({device})"
    return Stage("prefetch", None, (top,), build, PURE, label, note="added", change="prefetch")

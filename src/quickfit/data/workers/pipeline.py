"""`data.generator`: a Python function, run ahead of the training, as a `tf.data.Dataset`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from quickfit import units
from quickfit.data.graph import PYTHON_CALLS
from quickfit.data.workers.arrays import (
    TEXT_DTYPE,
    BatchLayout,
    LeafLayout,
    flatten_result,
    format_shape,
    pack_result,
    structure_of,
)
from quickfit.data.workers.plan import (
    DEFAULT_BATCH,
    GeneratorOptions,
    GeneratorPlan,
    plan_generator,
)
from quickfit.data.workers.supply import BatchSupply
from quickfit.errors import UsageError

if TYPE_CHECKING:
    import tensorflow as tf

# Batches that TensorFlow holds ready beside those in the making: the next step finds one.
_READY_BATCHES = 2


def generator(
    fn: Any,  # Any: a function, a generator function, a Keras PyDataset
    items: Any = None,  # Any: a number or a sequence
    *,
    workers: int | None = None,
    kind: str = "auto",
    ordered: bool = True,
    batch: int | None = DEFAULT_BATCH,
    shuffle: bool = False,
    seed: int | None = None,
    signature: Any = None,  # Any: tf.TensorSpec, nested
    prefetch: int | None = None,
    on_error: str = "raise",
    drop_remainder: bool = False,
    setup: Callable[[], object] | None = None,
) -> tf.data.Dataset:
    """Run `fn` on items in background workers and return the batches as a dataset.

    Example:
        ds = generator(load, paths, batch=32, shuffle=True, seed=1)
        model.fit(ds, epochs=10)

    Args:
        fn: called with one item, returns an array, a tuple or a dict of arrays, numbers or texts.
            If it has a parameter `rng`, it is given a `numpy.random.Generator` of its own. A
            generator function without arguments runs in one worker. A Keras `PyDataset` gives
            its own batches, without `items`. What the function uses is copied when the workers
            start: worker processes do not see a global that is changed later.
        items: a number n for 0 to n-1, a list of paths, any sequence.
        workers: how many; as many as cores by default.
        kind: "processes" (any Python code), "threads" (code that lets go of the GIL), or "auto":
            processes where the function can be carried there and takes longer than 0.2 ms.
        ordered: whether batches come in the order of the items, or as they are finished.
        batch: results in a batch; None yields them one by one, of any shape.
        shuffle: a new order of the items in each epoch.
        seed: the same order and the same random numbers per item again, for any number of workers.
        signature: `tf.TensorSpec`s of one result, nested as it is; found by calling `fn` on the
            first item otherwise.
        prefetch: batches in the making at a time.
        on_error: "raise", or "skip" for leaving out items that fail; `dataset.skipped` has them.
        drop_remainder: whether a last, smaller batch is dropped.
        setup: called once in each worker before anything else.

    Raises:
        UsageError: an argument cannot be used.
        PipelineError: the first item fails. Later ones fail inside `fit`, with the same text.
    """
    options = GeneratorOptions(
        workers, kind, ordered, batch, shuffle, seed, prefetch, on_error, drop_remainder, setup
    )
    plan = plan_generator(fn, items, options)
    layout = None if signature is None else _layout_from_signature(signature, plan)
    supply = BatchSupply(plan, layout)
    return _describe_dataset(_build_dataset(supply), supply)


def _layout_from_signature(signature: Any, plan: GeneratorPlan) -> BatchLayout:  # Any: nested specs
    import tensorflow as tf

    found = []
    for name, spec in flatten_result(signature):
        if not isinstance(spec, tf.TensorSpec) or spec.shape.rank is None:
            raise UsageError(
                f"generator(signature=...): {spec!r}{name and ' at ' + name} is no tf.TensorSpec"
                " with a known number of dimensions"
            )
        shape = tuple(spec.shape.as_list())
        if plan.rows is not None and None in shape:
            raise UsageError(
                f"generator(signature=...): {spec!r}{name and ' at ' + name} leaves a length open,"
                " and a batch needs equal shapes. Use batch=None and `.padded_batch`"
            )
        dtype = TEXT_DTYPE if spec.dtype == tf.string else np.dtype(spec.dtype.as_numpy_dtype)
        found.append(LeafLayout(name, dtype, shape))
    return BatchLayout(structure_of(signature), tuple(found), plan.rows)


def _build_dataset(supply: BatchSupply) -> tf.data.Dataset:
    import tensorflow as tf

    batches = PYTHON_CALLS.lasting_passes(supply.batches)
    dataset = tf.data.Dataset.from_generator(batches, output_signature=_dataset_signature(supply))
    if supply.count is not None:
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(supply.count))
    return dataset.prefetch(_READY_BATCHES)


def _dataset_signature(supply: BatchSupply) -> Any:  # Any: nested specs
    import tensorflow as tf

    layout, options = supply.layout, supply.plan.options
    rows = (layout.rows if options.drop_remainder else None,) if layout.rows else ()
    specs = []
    for leaf in layout.leaves:
        dtype = tf.string if leaf.is_text else _tensor_type(leaf)
        specs.append(tf.TensorSpec((*rows, *leaf.shape), dtype))
    return pack_result(layout.structure, iter(specs))


def _tensor_type(leaf: LeafLayout) -> Any:  # Any: tf.DType
    import tensorflow as tf

    try:
        return tf.as_dtype(leaf.dtype)
    except TypeError:
        raise UsageError(
            f"TensorFlow has no type for {leaf.dtype}{leaf.name and ' at ' + leaf.name}: let the"
            " function return another, for example with .astype('float32')"
        ) from None


def _describe_dataset(dataset: tf.data.Dataset, supply: BatchSupply) -> tf.data.Dataset:
    """Give the dataset words a person can read, and what was left out; it stays what it is."""
    text = _describe_supply(supply)
    words = {"__repr__": lambda _: text, "__str__": lambda _: text}
    dataset.__class__ = type("GeneratorDataset", (type(dataset),), words)
    dataset.skipped = supply.skipped
    dataset.close = supply.close
    # TensorFlow may keep the function longer than the dataset.
    weakref.finalize(dataset, supply.close)
    return dataset


def _describe_supply(supply: BatchSupply) -> str:
    plan, layout = supply.plan, supply.layout
    rows = f"batches of {plan.rows}" if plan.rows else "single results"
    what = f"{units.count(len(plan.items))} items, " if plan.items is not None else ""
    if plan.py_dataset is not None:
        what, rows = "", f"{units.count(len(plan.items or ()))} batches of its own"
    kinds = "process" if supply.staffing.uses_processes else "thread"
    count = f"{plan.workers} {kinds}" + ("es" if kinds == "process" else "s") * (plan.workers > 1)
    parts = ", ".join(
        f"{leaf.name.strip('[]')}: " * bool(leaf.name)
        + ("text" if leaf.is_text else str(leaf.dtype))
        + f" {format_shape(leaf.shape)}"
        for leaf in layout.leaves
    )
    order = "shuffled" if plan.options.shuffle else "in order"
    order = order if plan.options.ordered else "as finished"
    return (
        f"<generator `{plan.name}`: {what}{rows}, {order}; each {parts}; {count}"
        f" ({supply.staffing.reason}){_copied_note(supply)}>"
    )


def _copied_note(supply: BatchSupply) -> str:
    is_copied = supply.staffing.uses_processes
    return "; what the function uses is copied when the workers start" if is_copied else ""

"""The end of every pipeline: its length, repetition, options and prefetch."""

from __future__ import annotations

from typing import Any

from quickfit.data.graph import Dataset, Tensor, in_python, plain
from quickfit.data.reading.faults import Faults
from quickfit.data.reading.options import Options


def steps(count: int, options: Options) -> int:
    """Return the batches of an epoch of so many records."""
    return count // options.batch if options.drop_remainder else -(-count // options.batch)


def ended(
    dataset: Dataset, count: int | None, options: Options, *, has_files: bool = True
) -> Dataset:
    """Return the dataset with its length, which `fit` shows.

    Args:
        dataset: of batches.
        count: the records of an epoch; None where nobody knows, or some may be left out.
        options: what the user asked for.
        has_files: whether TensorFlow finds file names in the pipeline, to share them out.
    """
    import tensorflow as tf

    if count is not None:
        length = tf.data.experimental.assert_cardinality(steps(count, options))
        dataset = dataset.apply(length)
    if options.repeat:
        dataset = dataset.repeat()
    return _with_policy(dataset, options, has_files=has_files).prefetch(tf.data.AUTOTUNE)


def _with_policy(dataset: Dataset, options: Options, *, has_files: bool) -> Dataset:
    """Return the dataset with how TensorFlow may divide it among workers."""
    import tensorflow as tf

    policies = tf.data.experimental.AutoShardPolicy
    if options.shard != (0, 1):
        policy = policies.OFF  # it is this worker's part already
    elif has_files:
        return dataset
    else:
        policy = policies.DATA
    settings = tf.data.Options()
    settings.experimental_distribute.auto_shard_policy = policy
    return dataset.with_options(settings)


def without_gaps(batches: Dataset, options: Options, faults: Faults, count: int) -> Dataset:
    """Return batches that lost some of their records, without those that lost all.

    They are not filled up, so that their number stays as it is told; only where every batch must
    be full, they are.

    Args:
        batches: what is left of each.
        options: what the user asked for.
        faults: raises the error at the end of a pass that lost all records.
        count: of the records of a pass.
    """
    import tensorflow as tf

    batches = _with_some(batches, faults, count)
    if options.drop_remainder:
        return batches.rebatch(options.batch, drop_remainder=True)

    @plain
    def has_any(*parts: object) -> object:
        return tf.shape(tf.nest.flatten(parts)[0])[0] > 0

    return batches.filter(has_any)


def _with_some(batches: Dataset, faults: Faults, count: int) -> Dataset:
    """Return the batches and an empty one; where all are empty, that is an error."""
    import tensorflow as tf

    def empty(spec: Any) -> Tensor:  # a tf.TensorSpec
        return tf.zeros((0, *spec.shape[1:]), spec.dtype)

    @plain
    def counted(total: Tensor, element: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        parts, is_end = element
        total += tf.shape(tf.nest.flatten(parts)[0], tf.int64)[0]
        looked = tf.cond(
            is_end & (total == 0),
            lambda: in_python(lambda: faults.nothing_left(count), [], (tf.int64, ()))[0],
            lambda: tf.constant(0, tf.int64),
        )
        return total + looked, parts

    end = tf.data.Dataset.from_tensors(tf.nest.map_structure(empty, batches.element_spec))
    marks = [tf.data.Dataset.from_tensors(is_end).repeat() for is_end in (False, True)]
    zipped = [tf.data.Dataset.zip(pair) for pair in zip((batches, end), marks, strict=True)]
    return zipped[0].concatenate(zipped[1]).scan(tf.constant(0, tf.int64), counted)

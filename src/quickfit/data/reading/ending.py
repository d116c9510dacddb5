"""The end of every pipeline: its length, repetition, options and prefetch."""

from __future__ import annotations

from quickfit.data.graph import Dataset, plain
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


def without_gaps(batches: Dataset, options: Options) -> Dataset:
    """Return batches that lost some of their records, without those that lost all.

    They are not filled up, so that their number stays as it is told; only where every batch must
    be full, they are.
    """
    import tensorflow as tf

    if options.drop_remainder:
        return batches.rebatch(options.batch, drop_remainder=True)

    @plain
    def has_any(*parts: object) -> object:
        return tf.shape(tf.nest.flatten(parts)[0])[0] > 0

    return batches.filter(has_any)

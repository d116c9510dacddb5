"""A batch split among the replicas of a strategy."""

from __future__ import annotations

from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.stepping.feeding import Batch

# Tensors and strategies are `Any`: TensorFlow has no types of its own.


def is_shared(batch: Batch) -> bool:
    """Tell whether each replica has its own part already, as from a distributed dataset."""
    import tensorflow as tf

    return any(isinstance(one, tf.distribute.DistributedValues) for one in tf.nest.flatten(batch))


def shared(batch: Batch, strategy: Any) -> Batch:
    """Return the batch with one part of its examples for each replica, as even as can be."""
    import tensorflow as tf

    replicas = strategy.num_replicas_in_sync
    examples = tf.nest.flatten(batch[0])[0].shape[0]
    if examples < replicas:
        raise UsageError(
            f"a batch of {examples} cannot be shared by {replicas} replicas: each needs an "
            "example. Make batches larger, or leave out the last one: "
            "dataset.batch(size, drop_remainder=True)."
        )
    ends = [examples * (one + 1) // replicas for one in range(replicas)]

    def part(leaf: Any, replica: int) -> Any:
        if leaf is None or not leaf.shape.rank:
            return leaf
        return leaf[ends[replica - 1] if replica else 0 : ends[replica]]

    def values(leaf: Any) -> Any:
        if leaf is None:
            return None
        return strategy.experimental_distribute_values_from_function(
            lambda context: part(leaf, context.replica_id_in_sync_group)
        )

    split: Batch = tf.nest.map_structure(values, batch)
    return split


def part_of_first_replica(value: Any, strategy: Any) -> Any:
    """Return what the first replica gets of a batch, or of the spec of one."""
    import tensorflow as tf

    def first(leaf: Any) -> Any:
        if isinstance(leaf, tf.distribute.DistributedValues):
            return strategy.experimental_local_results(leaf)[0]
        # The spec of a distributed dataset has one for each replica, and no public name for them.
        return leaf._value_specs[0] if hasattr(leaf, "_value_specs") else leaf

    return tf.nest.map_structure(first, value)

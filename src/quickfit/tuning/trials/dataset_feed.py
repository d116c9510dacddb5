"""A `tf.data.Dataset` as a feed, and its batches made larger or smaller."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from quickfit.errors import ModelError
from quickfit.tuning.trials import batch_elements
from quickfit.tuning.trials.answers import DataKind
from quickfit.tuning.trials.feeds import ENDLESS_STEPS


class DatasetFeed:
    """Batches of a `tf.data.Dataset`; see `Feed`.

    The data set is looked at exactly once, whatever size is wanted: one that shuffles gives
    another order each time, and settings are compared on the same samples.

    Args:
        dataset: gives batches.
        batch: the samples per step that are wanted; None for its own.

    Raises:
        ModelError: it gives none, or not enough samples for one.
    """

    def __init__(self, dataset: Any, batch: int | None = None) -> None:  # Any: no types are told
        started_s = time.perf_counter()
        own = batch_elements.rows(_first(dataset))
        self.kind = DataKind.DATASET
        self.batch = batch or own
        self.has_labels = batch_elements.has_labels(dataset.element_spec)
        self.first_s = (time.perf_counter() - started_s) * self.batch / own
        self.samples: int | None = _samples(dataset, own)
        if self.batch > own and self.samples is not None:
            batch_elements.require_samples(self.samples, self.batch)
        self._dataset = rebatched(dataset, own, self.batch)
        self._rest = _rest(self._dataset, self.samples, own, self.batch)

    def arguments(self) -> dict[str, Any]:
        """Return what to give `fit` to train on it as the user does."""
        if int(self._dataset.cardinality()) == -1:  # endless
            return {**self._given(self._dataset), "steps_per_epoch": ENDLESS_STEPS}
        return self._given(self._dataset)

    def exactly(self, steps: int) -> dict[str, Any]:
        """Return what to give `fit` so that one epoch is so many steps from the beginning."""
        return self._given(self._dataset.repeat().take(steps))

    def rest(self) -> dict[str, Any] | None:
        """Return what to give `fit` for one batch as small as the last of an epoch, if it is."""
        import tensorflow as tf

        if not self._rest:
            return None

        def cut(*parts: Any) -> Any:
            made = tf.nest.map_structure(lambda leaf: leaf[: self._rest], parts)
            return made[0] if len(made) == 1 else made

        return self._given(self._dataset.take(1).map(cut))

    def batches(self) -> Iterator[Any]:
        """Yield batches from the beginning."""
        return iter(self._dataset)

    @staticmethod
    def _given(dataset: Any) -> dict[str, Any]:
        # Without it Keras warns that it does not shuffle a data set.
        return {"x": dataset, "shuffle": False}


def rebatched(dataset: Any, own: int, batch: int) -> Any:
    """Return a data set of batches of another size, the samples in the same order."""
    if own == batch:
        return dataset
    return (
        _batched_otherwise(dataset, batch)
        or _merged(dataset, own, batch)
        or _prefetched(dataset.unbatch().batch(batch))
    )


def _first(dataset: Any) -> Any:
    for element in dataset.take(1):
        return element
    raise ModelError(
        "the data set is empty: it ends before its first batch. Look at what it is made of, for "
        "example the pattern of file names or a filter; drop_remainder=True drops everything "
        "where there are fewer samples than one batch."
    )


def _samples(dataset: Any, batch: int) -> int | None:
    steps = int(dataset.cardinality())
    if steps < 0:
        return None
    below = _below_batch(dataset)
    inside = int(below[0].cardinality()) if below and not below[1] else -1
    return inside if inside >= 0 else steps * batch


def _rest(dataset: Any, samples: int | None, own: int, batch: int) -> int:
    """Return the samples of the last batch of an epoch where it is smaller, or 0."""
    import tensorflow as tf

    specs = tf.nest.flatten(dataset.element_spec)
    if samples is None or any(isinstance(spec, tf.SparseTensorSpec) for spec in specs):
        return 0
    if specs[0].shape.rank and specs[0].shape[0] is not None:
        return 0  # all of them have the same size
    if own != batch and _below_batch(dataset) is None:
        samples -= samples % own  # whole batches were merged
    return samples % batch


def _below_batch(dataset: Any) -> tuple[Any, bool] | None:
    """Return what the last `batch` of a pipeline takes, and whether it drops a rest.

    Reads private attributes of TensorFlow 2.21; where they are not, there is no answer.
    """
    import tensorflow as tf

    while type(dataset).__name__ in ("_PrefetchDataset", "_OptionsDataset"):
        dataset = dataset._input_dataset
    if type(dataset).__name__ not in ("_BatchDataset", "_ParallelBatchDataset"):
        return None
    drops = getattr(dataset, "_drop_remainder", None)
    value = None if drops is None else tf.get_static_value(drops)
    return None if value is None else (dataset._input_dataset, bool(value))


def _batched_otherwise(dataset: Any, batch: int) -> Any | None:
    """Return the pipeline with another size in its `.batch(...)`, as the user would write it."""
    below = _below_batch(dataset)
    if below is None:
        return None
    made, drops = below
    return _prefetched(made.batch(batch, drop_remainder=drops).with_options(dataset.options()))


def _merged(dataset: Any, own: int, batch: int) -> Any | None:
    """Return whole batches put together, which costs one copy; None where that cannot be."""
    import tensorflow as tf

    specs = tf.nest.flatten(dataset.element_spec)
    if batch % own or not all(isinstance(spec, tf.TensorSpec) for spec in specs):
        return None
    if any(spec.shape.rank is None or None in spec.shape[1:] for spec in specs):
        return None  # rows of changing shapes fit in no larger batch
    if specs[0].shape[0] is None:
        # The last one of an epoch may be smaller.
        dataset = dataset.filter(lambda *parts: _rows_in_graph(parts) == own)
    merged = dataset.batch(batch // own).map(_flattened, num_parallel_calls=tf.data.AUTOTUNE)
    return _prefetched(merged)


def _rows_in_graph(parts: Any) -> Any:
    import tensorflow as tf

    return tf.shape(tf.nest.flatten(parts)[0])[0]


def _flattened(*parts: Any) -> Any:
    import tensorflow as tf

    def flat(leaf: Any) -> Any:
        return tf.reshape(leaf, tf.concat([[-1], tf.shape(leaf)[2:]], 0))

    def shaped(leaf: Any) -> Any:
        made = flat(leaf)
        made.set_shape([None, *leaf.shape[2:]])
        return made

    made = tf.nest.map_structure(shaped, parts)
    return made[0] if len(made) == 1 else made


def _prefetched(dataset: Any) -> Any:
    import tensorflow as tf

    return dataset.prefetch(tf.data.AUTOTUNE)

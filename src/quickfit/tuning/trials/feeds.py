"""The user's data, of whatever kind, as something that `fit` takes in batches of a wanted size."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count, islice
from typing import Any, Protocol

import numpy as np

from quickfit.errors import ModelError
from quickfit.tuning.trials import batch_elements
from quickfit.tuning.trials.batch_elements import describe_value
from quickfit.tuning.trials.settings import DataKind

# An endless data set has no epochs: one is so many steps.
ENDLESS_STEPS = 1000
# Kept batches must not be what a trial's memory goes to.
KEPT_BATCHES = 16
KEPT_BYTES = 1 << 28


class BatchFeed(Protocol):
    """Data in batches.

    Attributes:
        batch: samples per step.
        samples: in one epoch; None where nobody knows.
        first_s: what the first batch of an epoch took to make.
        has_labels: whether there is something beside the inputs.
        kind: what the data of the user are.
    """

    batch: int
    samples: int | None
    first_s: float
    has_labels: bool
    kind: DataKind

    def arguments(self) -> dict[str, Any]:  # Any: Keras's
        """Return what to give `fit` to train on it as the user does."""

    def exactly(self, steps: int) -> dict[str, Any]:
        """Return what to give `fit` so that one epoch is so many steps from the beginning."""

    def rest(self) -> dict[str, Any] | None:
        """Return what to give `fit` for one batch as small as the last of an epoch, if it is."""

    def batches(self) -> Iterator[Any]:
        """Yield batches from the beginning."""


def make_feed(data: Any, batch: int | None, own_batch: int) -> BatchFeed:  # Any: the user's
    """Return data as a feed.

    Args:
        data: what the user's function returned.
        batch: the samples per step that are wanted; None for the user's own.
        own_batch: the user's own, where the data do not say.

    Raises:
        ModelError: it is nothing that can be trained on.
    """
    import keras
    import tensorflow as tf

    from quickfit.tuning.trials import batch_elements

    if isinstance(data, tf.data.Dataset):
        return DatasetFeed(data, batch)
    if isinstance(data, keras.utils.PyDataset):
        return PyDatasetFeed(data, batch)
    arrays = as_arrays(data)
    if arrays is None:
        raise ModelError(
            f"the data are {describe_value(data)}, which cannot be trained on again and again. "
            "Return one tf.data.Dataset of batches, arrays as (x, y), or a keras.utils.PyDataset."
        )
    made = ArrayFeed(arrays, batch or own_batch)
    if batch is not None and made.samples is not None:
        batch_elements.require_samples(made.samples, batch)
    return made


def data_kind(data: Any) -> DataKind:
    """Return what data are; what is nothing that is known is taken for arrays."""
    import keras
    import tensorflow as tf

    if isinstance(data, tf.data.Dataset):
        return DataKind.DATASET
    return DataKind.PY_DATASET if isinstance(data, keras.utils.PyDataset) else DataKind.ARRAYS


def in_memory(feed: BatchFeed) -> BatchFeed:
    """Return a feed whose first few batches were made before and come in turn, endlessly."""
    from quickfit.tuning.trials import batch_elements

    kept: list[Any] = []
    held_bytes = 0
    for element in islice(feed.batches(), KEPT_BATCHES):
        if kept and batch_elements.batch_rows(element) != feed.batch:
            break  # the last one of an epoch
        kept.append(element)
        held_bytes += batch_elements.element_bytes(element)
        if held_bytes * (len(kept) + 1) / len(kept) > KEPT_BYTES:
            break

    class InEpochs(DatasetFeed):
        """Has as many steps in an epoch as the user's: `fit` takes its time to begin one."""

        def arguments(self) -> dict[str, Any]:
            steps = -(-feed.samples // feed.batch) if feed.samples else None
            return super().arguments() if steps is None else self.exactly(steps)

    made = InEpochs(batch_elements.as_dataset(kept).repeat())
    made.samples = feed.samples
    made.kind = feed.kind
    return made


_NAMES = ("x", "y", "sample_weight")


class ArrayFeed:
    """Arrays in batches; see `Feed`.

    Args:
        arrays: one to three nests: x, y, sample weights.
        batch: samples per step.

    Raises:
        ModelError: there are no samples, or not the same number in all of them.
    """

    def __init__(self, arrays: tuple[Any, ...], batch: int) -> None:  # Any: nests of arrays
        self._arrays = arrays
        self._length = _array_length(arrays)
        self.samples: int | None = self._length
        self.kind = DataKind.ARRAYS
        self.first_s = 0.0
        self.has_labels = len(arrays) > 1
        self.batch = min(batch, self._length)  # as `fit` does it

    def arguments(self) -> dict[str, Any]:
        """Return what to give `fit` to train on it as the user does."""
        return {**dict(zip(_NAMES, self._arrays, strict=False)), "batch_size": self.batch}

    def exactly(self, steps: int) -> dict[str, Any]:
        """Return what to give `fit` so that one epoch is so many steps from the beginning."""
        order = self._order(steps * self.batch)
        taken = (_map_nest(part, lambda array: array[order]) for part in self._arrays)
        named = dict(zip(_NAMES, taken, strict=False))
        return {**named, "batch_size": self.batch, "shuffle": False}

    def rest(self) -> dict[str, Any] | None:
        """Return what to give `fit` for one batch as small as the last of an epoch, if it is."""
        count = self._length % self.batch
        if not count:
            return None
        taken = (_map_nest(part, lambda array: array[:count]) for part in self._arrays)
        return {**dict(zip(_NAMES, taken, strict=False)), "batch_size": self.batch}

    def batches(self) -> Iterator[Any]:
        """Yield batches from the beginning."""
        # Mixed, as `fit` does it: arrays are often sorted by class.
        order = self._order(self._length)
        for first in range(0, self._length, self.batch):
            rows = order[first : first + self.batch]
            yield tuple(_map_nest(part, lambda array: array[rows]) for part in self._arrays)  # noqa: B023 - called here

    def _order(self, samples: int) -> Any:
        random = np.random.default_rng(SEED)
        epochs = -(-samples // self._length)
        return np.concatenate([random.permutation(self._length) for _ in range(epochs)])[:samples]


def as_arrays(data: Any) -> tuple[Any, ...] | None:
    """Return data as one to three nests of arrays, or None where it is something else."""
    parts = tuple(data) if isinstance(data, tuple | list) else (data,)
    if not 1 <= len(parts) <= len(_NAMES):
        return None
    if len(parts) == len(_NAMES) and parts[2] is None:
        parts = parts[:2]
    arrays = tuple(_map_nest(part, _as_array) for part in parts)
    return arrays if all(leaf is not None for leaf in _nest_leaves(arrays)) else None


def arrays_bytes(arrays: tuple[Any, ...]) -> int:
    """Return the memory of arrays."""
    return sum(int(leaf.nbytes) for leaf in _nest_leaves(arrays))


def _as_array(value: Any) -> Any:
    """Return tensors, frames and arrays as an array; None for anything else."""
    if isinstance(value, np.ndarray):
        return value
    if not hasattr(value, "shape") or not hasattr(value, "__array__"):
        return None
    return np.asarray(value)


def _map_nest(nest: Any, change: Any) -> Any:
    if isinstance(nest, dict):
        return {name: _map_nest(part, change) for name, part in nest.items()}
    if isinstance(nest, tuple):
        return tuple(_map_nest(part, change) for part in nest)
    if isinstance(nest, list):
        return [_map_nest(part, change) for part in nest]
    return change(nest)


def _nest_leaves(nest: Any) -> list[Any]:
    if isinstance(nest, dict):
        return [leaf for part in nest.values() for leaf in _nest_leaves(part)]
    if isinstance(nest, tuple | list):
        return [leaf for part in nest for leaf in _nest_leaves(part)]
    return [nest]


def _array_length(arrays: tuple[Any, ...]) -> int:
    lengths = {leaf.shape[0] if leaf.ndim else 0 for leaf in _nest_leaves(arrays)}
    if len(lengths) > 1:
        raise ModelError(f"the arrays differ in length: {sorted(lengths)}.")
    if lengths in (set(), {0}):
        raise ModelError("the arrays of the data are empty: there is nothing to train on.")
    return int(lengths.pop())


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
        own = batch_elements.batch_rows(_first_element(dataset))
        self.kind = DataKind.DATASET
        self.batch = batch or own
        self.has_labels = batch_elements.has_labels(dataset.element_spec)
        self.first_s = (time.perf_counter() - started_s) * self.batch / own
        self.samples: int | None = _count_samples(dataset, own)
        if self.batch > own and self.samples is not None:
            batch_elements.require_samples(self.samples, self.batch)
        self._dataset = rebatch_dataset(dataset, own, self.batch)
        self._rest = _rest_samples(self._dataset, self.samples, own, self.batch)

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


def rebatch_dataset(dataset: Any, own: int, batch: int) -> Any:
    """Return a data set of batches of another size, the samples in the same order."""
    if own == batch:
        return dataset
    return (
        _batched_otherwise(dataset, batch)
        or _merge_batches(dataset, own, batch)
        or _prefetch_dataset(dataset.unbatch().batch(batch))
    )


def _first_element(dataset: Any) -> Any:
    for element in dataset.take(1):
        return element
    raise ModelError(
        "the data set is empty: it ends before its first batch. Look at what it is made of, for "
        "example the pattern of file names or a filter; drop_remainder=True drops everything "
        "where there are fewer samples than one batch."
    )


def _count_samples(dataset: Any, batch: int) -> int | None:
    steps = int(dataset.cardinality())
    if steps < 0:
        return None
    below = _below_batch(dataset)
    inside = int(below[0].cardinality()) if below and not below[1] else -1
    return inside if inside >= 0 else steps * batch


def _rest_samples(dataset: Any, samples: int | None, own: int, batch: int) -> int:
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
    return _prefetch_dataset(
        made.batch(batch, drop_remainder=drops).with_options(dataset.options())
    )


def _merge_batches(dataset: Any, own: int, batch: int) -> Any | None:
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
    merged = dataset.batch(batch // own).map(_flatten_function, num_parallel_calls=tf.data.AUTOTUNE)
    return _prefetch_dataset(merged)


def _rows_in_graph(parts: Any) -> Any:
    import tensorflow as tf

    return tf.shape(tf.nest.flatten(parts)[0])[0]


def _flatten_function(*parts: Any) -> Any:
    import tensorflow as tf

    def flat(leaf: Any) -> Any:
        return tf.reshape(leaf, tf.concat([[-1], tf.shape(leaf)[2:]], 0))

    def shaped(leaf: Any) -> Any:
        made = flat(leaf)
        made.set_shape([None, *leaf.shape[2:]])
        return made

    made = tf.nest.map_structure(shaped, parts)
    return made[0] if len(made) == 1 else made


def _prefetch_dataset(dataset: Any) -> Any:
    import tensorflow as tf

    return dataset.prefetch(tf.data.AUTOTUNE)


class PyDatasetFeed:
    """Batches of a `PyDataset`; see `Feed`.

    Args:
        source: gives batches.
        batch: the samples per step that are wanted; None for its own.

    Raises:
        ModelError: it gives none, or none of the wanted size can be made.
    """

    def __init__(self, source: Any, batch: int | None) -> None:  # Any: Keras tells no types
        self.kind = DataKind.PY_DATASET
        steps = _dataset_length(source)
        if steps == 0:
            raise ModelError("the PyDataset is empty: its __len__ is 0.")
        started_s = time.perf_counter()
        first = batch_elements.as_tuples(source[0])
        own = batch_elements.batch_rows(first)
        self.has_labels = batch_elements.has_labels(first)
        self.first_s = time.perf_counter() - started_s
        self._source = (
            source if batch in (None, own) else merge_py_dataset(source, own, batch or own)
        )
        self.batch = batch or own
        self.samples = None if steps is None else steps * own

    def arguments(self) -> dict[str, Any]:
        """Return what to give `fit` to train on it as the user does."""
        if _dataset_length(self._source) is None:
            return {"x": self._source, "steps_per_epoch": ENDLESS_STEPS}
        return {"x": self._source}

    def exactly(self, steps: int) -> dict[str, Any]:
        """Return what to give `fit` so that one epoch is so many steps from the beginning."""
        import tensorflow as tf

        first = batch_elements.as_tuples(self._source[0])
        signature = tf.nest.map_structure(_any_rows, first)
        made = tf.data.Dataset.from_generator(self.batches, output_signature=signature)
        return {"x": made.repeat().take(steps), "shuffle": False}

    def rest(self) -> dict[str, Any] | None:
        """Return nothing: a PyDataset does not say how large its last batch is."""
        return None

    def batches(self) -> Iterator[Any]:
        """Yield batches from the beginning."""
        steps = _dataset_length(self._source)
        for number in count() if steps is None else range(steps):
            yield batch_elements.as_tuples(self._source[number])


def merge_py_dataset(source: Any, own: int, batch: int) -> Any:
    """Return a `PyDataset` of several batches put together.

    Raises:
        ModelError: the wanted size is no multiple of its own.
    """
    import keras
    import numpy as np
    import tensorflow as tf

    if batch % own:
        raise ModelError(
            f"batches of {batch} cannot be made of a PyDataset's batches of {own}; a multiple can. "
            "Give your function a batch_size argument, and it is called with the wanted size."
        )

    class Merged(keras.utils.PyDataset):  # type: ignore[misc]  # Keras tells no types
        """Several batches of another PyDataset as one."""

        @property
        def num_batches(self) -> int | None:
            steps = _dataset_length(source)
            return None if steps is None else -(-steps * own // batch)

        def __getitem__(self, index: int) -> Any:
            times = batch // own
            last = _dataset_length(source)
            numbers = range(index * times, min((index + 1) * times, last or (index + 1) * times))
            parts = [batch_elements.as_tuples(source[number]) for number in numbers]
            return tf.nest.map_structure(lambda *leaves: np.concatenate(leaves), *parts)

        def on_epoch_end(self) -> None:
            source.on_epoch_end()

    return Merged(
        workers=source.workers,
        use_multiprocessing=False,
        max_queue_size=source.max_queue_size,
    )


def _dataset_length(source: Any) -> int | None:
    steps = source.num_batches
    return None if steps is None else int(steps)


def _any_rows(leaf: Any) -> Any:
    import numpy as np
    import tensorflow as tf

    array = np.asarray(leaf)
    return tf.TensorSpec([None, *array.shape[1:]], array.dtype)


SEED = 20_231


def reset_seeds() -> None:
    """Seed Python, NumPy, Keras and TensorFlow."""
    import keras

    keras.utils.set_random_seed(SEED)

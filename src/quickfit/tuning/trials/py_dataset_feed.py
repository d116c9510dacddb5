"""A `keras.utils.PyDataset` as a feed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from typing import Any

from quickfit.errors import ModelError
from quickfit.tuning.trials import batch_elements
from quickfit.tuning.trials.answers import DataKind
from quickfit.tuning.trials.feeds import ENDLESS_STEPS


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
        steps = _length(source)
        if steps == 0:
            raise ModelError("the PyDataset is empty: its __len__ is 0.")
        started_s = time.perf_counter()
        first = batch_elements.tupled(source[0])
        own = batch_elements.rows(first)
        self.has_labels = batch_elements.has_labels(first)
        self.first_s = time.perf_counter() - started_s
        self._source = source if batch in (None, own) else merged(source, own, batch or own)
        self.batch = batch or own
        self.samples = None if steps is None else steps * own

    def arguments(self) -> dict[str, Any]:
        """Return what to give `fit` to train on it as the user does."""
        if _length(self._source) is None:
            return {"x": self._source, "steps_per_epoch": ENDLESS_STEPS}
        return {"x": self._source}

    def exactly(self, steps: int) -> dict[str, Any]:
        """Return what to give `fit` so that one epoch is so many steps from the beginning."""
        import tensorflow as tf

        first = batch_elements.tupled(self._source[0])
        signature = tf.nest.map_structure(_any_rows, first)
        made = tf.data.Dataset.from_generator(self.batches, output_signature=signature)
        return {"x": made.repeat().take(steps), "shuffle": False}

    def rest(self) -> dict[str, Any] | None:
        """Return nothing: a PyDataset does not say how large its last batch is."""
        return None

    def batches(self) -> Iterator[Any]:
        """Yield batches from the beginning."""
        steps = _length(self._source)
        for number in count() if steps is None else range(steps):
            yield batch_elements.tupled(self._source[number])


def merged(source: Any, own: int, batch: int) -> Any:
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
            steps = _length(source)
            return None if steps is None else -(-steps * own // batch)

        def __getitem__(self, index: int) -> Any:
            times = batch // own
            last = _length(source)
            numbers = range(index * times, min((index + 1) * times, last or (index + 1) * times))
            parts = [batch_elements.tupled(source[number]) for number in numbers]
            return tf.nest.map_structure(lambda *leaves: np.concatenate(leaves), *parts)

        def on_epoch_end(self) -> None:
            source.on_epoch_end()

    return Merged(
        workers=source.workers,
        use_multiprocessing=False,
        max_queue_size=source.max_queue_size,
    )


def _length(source: Any) -> int | None:
    steps = source.num_batches
    return None if steps is None else int(steps)


def _any_rows(leaf: Any) -> Any:
    import numpy as np
    import tensorflow as tf

    array = np.asarray(leaf)
    return tf.TensorSpec([None, *array.shape[1:]], array.dtype)

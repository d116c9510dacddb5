"""The user's data, of whatever kind, as something that `fit` takes in batches of a wanted size."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

from quickfit.errors import ModelError
from quickfit.tuning.trials.answers import DataKind
from quickfit.tuning.trials.building import described

# An endless data set has no epochs: one is so many steps.
ENDLESS_STEPS = 1000
# Kept batches must not be what a trial's memory goes to.
KEPT_BATCHES = 16
KEPT_BYTES = 1 << 28


class Feed(Protocol):
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


def feed_of(data: Any, batch: int | None, own_batch: int) -> Feed:  # Any: the user's
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

    from quickfit.tuning.trials import array_feed, batch_elements, dataset_feed, py_dataset_feed

    if isinstance(data, tf.data.Dataset):
        return dataset_feed.DatasetFeed(data, batch)
    if isinstance(data, keras.utils.PyDataset):
        return py_dataset_feed.PyDatasetFeed(data, batch)
    arrays = array_feed.as_arrays(data)
    if arrays is None:
        raise ModelError(
            f"the data are {described(data)}, which cannot be trained on again and again. Return "
            "one tf.data.Dataset of batches, arrays as (x, y), or a keras.utils.PyDataset."
        )
    made = array_feed.ArrayFeed(arrays, batch or own_batch)
    if batch is not None and made.samples is not None:
        batch_elements.require_samples(made.samples, batch)
    return made


def kind_of(data: Any) -> DataKind:
    """Return what data are; what is nothing that is known is taken for arrays."""
    import keras
    import tensorflow as tf

    if isinstance(data, tf.data.Dataset):
        return DataKind.DATASET
    return DataKind.PY_DATASET if isinstance(data, keras.utils.PyDataset) else DataKind.ARRAYS


def in_memory(feed: Feed) -> Feed:
    """Return a feed whose first few batches were made before and come in turn, endlessly."""
    from quickfit.tuning.trials import batch_elements, dataset_feed

    kept: list[Any] = []
    held_bytes = 0
    for element in islice(feed.batches(), KEPT_BATCHES):
        if kept and batch_elements.rows(element) != feed.batch:
            break  # the last one of an epoch
        kept.append(element)
        held_bytes += batch_elements.size_bytes(element)
        if held_bytes * (len(kept) + 1) / len(kept) > KEPT_BYTES:
            break

    class InEpochs(dataset_feed.DatasetFeed):
        """Has as many steps in an epoch as the user's: `fit` takes its time to begin one."""

        def arguments(self) -> dict[str, Any]:
            steps = -(-feed.samples // feed.batch) if feed.samples else None
            return super().arguments() if steps is None else self.exactly(steps)

    made = InEpochs(batch_elements.as_dataset(kept).repeat())
    made.samples = feed.samples
    made.kind = feed.kind
    return made

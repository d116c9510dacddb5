"""The base class of a user's `PyDataset` inside a worker, where Keras is not loaded."""

from __future__ import annotations


class PyDataset:
    """What methods of a Keras `PyDataset` may ask of their base class."""

    # The names under which Keras keeps them: objects come here with these set.
    _workers = 1
    _use_multiprocessing = False
    _max_queue_size = 10

    @property
    def workers(self) -> int:
        """What the user told Keras."""
        return self._workers

    @property
    def use_multiprocessing(self) -> bool:
        """What the user told Keras."""
        return self._use_multiprocessing

    @property
    def max_queue_size(self) -> int:
        """What the user told Keras."""
        return self._max_queue_size

    @property
    def num_batches(self) -> int | None:
        """The number of batches, as Keras asks for it."""
        return len(self) if hasattr(self, "__len__") else None

    def on_epoch_begin(self) -> None:
        """Do nothing: a user's class may do more."""

    def on_epoch_end(self) -> None:
        """Do nothing: a user's class may do more."""

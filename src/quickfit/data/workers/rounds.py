"""A user's `PyDataset` is told of epochs here, since what it changes must reach all workers."""

from __future__ import annotations

from typing import Any

from quickfit.data.workers.carrying import is_py_dataset_base


class Rounds:
    """The epochs of a `PyDataset`.

    Each worker has a copy of it. If each copy shuffled its own indexes in `on_epoch_end`, examples
    would be lost and others come twice; so only the user's own object is told, and carried again.

    Args:
        dataset: the user's; None where there is none. Any: theirs.
    """

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.version = 0

    def begin(self) -> None:
        """Tell of the beginning of an epoch."""
        self._tell("on_epoch_begin")

    def end(self) -> None:
        """Tell of the end of a whole epoch."""
        self._tell("on_epoch_end")

    def _tell(self, method: str) -> None:
        if _defines(type(self._dataset), method):
            getattr(self._dataset, method)()
            self.version += 1


def _defines(kind: type, method: str) -> bool:
    """Return whether the user wrote this method themselves."""
    for base in kind.__mro__:
        if is_py_dataset_base(base) or base.__name__ == "Sequence":
            return False
        if method in vars(base):
            return True
    return False

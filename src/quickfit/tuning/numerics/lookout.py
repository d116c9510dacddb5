"""Looks for the source of the first update that was left out, while `fit` goes on."""

from __future__ import annotations

from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.numerics import skips
from quickfit.tuning.numerics.culprit import Culprit
from quickfit.tuning.numerics.finding import find_nan
from quickfit.tuning.numerics.following import Follower, follow, guard_model

# Models and batches are `Any`: TensorFlow and Keras have no types of their own.


def source_of(model: Any, batch: Any) -> tuple[Culprit | None, str]:
    """Return what went non-finite first, and the same as text; the training is never broken."""
    if batch is None:
        return None, (
            "Its source was not looked for: the batch is not known, as with several replicas. Try "
            "find_nan(model, batch) on batches of your own."
        )
    try:
        culprit = find_nan(model, batch)
    except UsageError as error:
        return None, f"Its source was not found: {error}"
    except Exception as error:  # noqa: BLE001 - anything: the user's training comes first
        return None, f"Its source could not be looked for: {type(error).__name__}: {error}"
    if culprit is None:
        return None, (
            "The last batch, run again, gives finite numbers: the cause is in another batch of "
            "the same execution (steps_per_execution), or in chance, such as dropout."
        )
    return culprit, str(culprit)


class Lookout:
    """Watches the updates that a guarded model leaves out; it has the hooks of a callback.

    Args:
        guard: guard every model that is fitted. Otherwise only those are watched that are
            guarded already.
    """

    def __init__(self, *, guard: bool) -> None:
        self.guard = guard
        self.culprit: Culprit | None = None
        self._source = self._first = ""
        self._follower: Follower | None = None
        self._begun = 0

    def set_model(self, model: Any) -> None:
        """Begin to follow a model; `fit` calls it before it makes the train function."""
        self._follower = None
        try:
            if self.guard:
                guard_model(model)
            elif not skips.is_guarded(getattr(model, "optimizer", None)):
                return
        except UsageError as error:
            self._source = f"Nothing is guarded: {error}"
            return
        self._follower = follow(model)
        self._begun = self._follower.skipped
        self._source = ""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Look at the first batch whose update was left out."""
        follower = self._follower
        if follower is None or self._source or follower.skipped == self._begun:
            return
        self.culprit, self._source = source_of(follower.model, follower.batch)
        self._first = f"The first time, in batch {batch + 1} of its epoch:"

    def lines(self) -> list[str]:
        """Return what to add to a report; nothing if no update was left out."""
        count = self._follower.skipped - self._begun if self._follower else 0
        if not count:
            return self._source.splitlines()
        are = "update was" if count == 1 else "updates were"
        head = f"guard: {count} {are} left out because numbers were not finite. {self._first}"
        return [head, *(f"  {line}" for line in self._source.splitlines())]

"""Watches a training whose updates are left out: stops it, or names the source of the first one.

A `LossScaleOptimizer` leaves out every update that is not finite and halves its scale. Where the
cause stays, no update is ever made again and the scale goes to 0: `fit` runs on for hours, and
nothing says so.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, TextIO

from quickfit import terminal
from quickfit.errors import QuickfitError, UsageError
from quickfit.tuning.numerics import guard
from quickfit.tuning.numerics.guard import StepFollower, follow_model, guard_model
from quickfit.tuning.numerics.nan_search import find_nan
from quickfit.tuning.numerics.nan_step import Culprit

# Models are `Any`: Keras has no types of its own.

# To ask after every step would make a GPU wait; a quarter of the limit is early enough.
_ASK_EVERY = 5


class LossScaleWatch:
    """A Keras callback that ends `fit` when its updates are left out again and again.

    It follows a `GuardedOptimizer` as well. What went non-finite first is looked for in the last
    batch, printed, and kept as `culprit`.

    Args:
        max_skips: stop at the latest after so many updates left out in a row (more only where
            one execution has more steps). The usual start, where the scale is halved a few times
            until it fits, stays below.
        min_scale: stop when the loss scale is below it: small gradients are lost then.
        raises: raise `QuickfitError` from `fit`, so that what comes after it does not run.
        file: where to print; by default stderr.
    """

    def __init__(
        self,
        max_skips: int = 20,
        *,
        min_scale: float = 1.0,
        raises: bool = False,
        file: TextIO | None = None,
    ) -> None:
        if max_skips < 1:
            raise UsageError(f"max_skips must be 1 or more, not {max_skips}. Usual: 20.")
        self.max_skips = max_skips
        self.min_scale = min_scale
        self.raises = raises
        self.file = file
        self.culprit: Culprit | None = None
        self.message: str | None = None
        self._every = min(_ASK_EVERY, max(1, max_skips // 4))
        self._calls = 0
        self._follower: StepFollower | None = None

    def set_model(self, model: Any) -> None:
        """Begin to follow the model; `fit` calls it before it makes the train function."""
        self._follower = None
        if not guard.leaves_out(model.optimizer):
            warnings.warn(
                f"quickfit: LossScaleWatch has nothing to watch: the optimizer of {model.name!r} "
                f"is {type(model.optimizer).__name__}, which neither scales the loss nor leaves "
                "updates out. Use it with mixed_float16, or with GuardedOptimizer.",
                stacklevel=2,
            )
            return
        self._follower = follow_model(model)
        self._follower.forget_row()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Stop the training where it has frozen."""
        follower = self._follower
        if follower is None:
            return
        self._calls += 1
        if self._calls % self._every and follower.model.steps_per_execution == 1:
            return
        reason = self._reason(follower)
        if reason is not None:
            self._stop(follower, reason)

    def __getattr__(self, name: str) -> Any:  # the other hooks of a callback do nothing
        if name.startswith("on_") or name == "set_params":
            return _do_nothing
        raise AttributeError(f"'LossScaleWatch' object has no attribute {name!r}")

    def _reason(self, follower: StepFollower) -> str | None:
        row = follower.in_a_row
        if row > self.max_skips - self._every:
            last = "update was" if row == 1 else f"{row} updates were"
            return f"the last {last} left out because numbers were not finite"
        optimizer = follower.model.optimizer
        if guard.is_loss_scaling(optimizer):
            scale = float(optimizer.dynamic_scale.numpy())
            if scale < self.min_scale:
                return f"the loss scale fell to {scale:g}, below {self.min_scale:g}"
        return None

    def _stop(self, follower: StepFollower, reason: str) -> None:
        model = follower.model
        self.culprit, source = nan_source(model, follower.batch)
        self.message = (
            f"quickfit: training of {model.name!r} is stopped: {reason}. {_weights_text(model)}\n"
            f"{source}"
        )
        model.stop_training = True
        self._follower = None
        if self.raises:
            raise QuickfitError(self.message)
        terminal.write(self.file or sys.stderr, f"{self.message}\n")


def _weights_text(model: Any) -> str:
    """Say which weights the model has now."""
    if int(model.optimizer.iterations.numpy()):
        return "The weights are those of the last good update."
    return "No update was ever made: the weights are those that the training began with."


def _do_nothing(*_: Any, **__: Any) -> None:
    """Do nothing, as a callback without hooks does."""


# Models and batches are `Any`: TensorFlow and Keras have no types of their own.


def nan_source(model: Any, batch: Any) -> tuple[Culprit | None, str]:
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


class NanLookout:
    """Watches the updates that a guarded model leaves out; it has the hooks of a callback.

    Args:
        guard: guard every model that is fitted. Otherwise only those are watched that are
            guarded already.
    """

    def __init__(self, *, guard: bool) -> None:
        self.guard = guard
        self.culprit: Culprit | None = None
        self._source = self._first = ""
        self._follower: StepFollower | None = None
        self._begun = 0

    def set_model(self, model: Any) -> None:
        """Begin to follow a model; `fit` calls it before it makes the train function."""
        self._follower = None
        try:
            if self.guard:
                guard_model(model)
            elif not guard.is_guarded(getattr(model, "optimizer", None)):
                return
        except UsageError as error:
            self._source = f"Nothing is guarded: {error}"
            return
        self._follower = follow_model(model)
        self._begun = self._follower.skipped
        self._source = ""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Look at the first batch whose update was left out."""
        follower = self._follower
        if follower is None or self._source or follower.skipped == self._begun:
            return
        self.culprit, self._source = nan_source(follower.model, follower.batch)
        self._first = f"The first time, in batch {batch + 1} of its epoch:"

    def lines(self) -> list[str]:
        """Return what to add to a report; nothing if no update was left out."""
        count = self._follower.skipped - self._begun if self._follower else 0
        if not count:
            return self._source.splitlines()
        are = "update was" if count == 1 else "updates were"
        head = f"guard: {count} {are} left out because numbers were not finite. {self._first}"
        return [head, *(f"  {line}" for line in self._source.splitlines())]

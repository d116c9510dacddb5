"""Follows the steps of `fit` from inside: what was left out, and the batch of the last step.

A Keras callback sees neither. `fit` takes batches inside the compiled function, so that
`train_step` is the only place where they can be had; the step returns its batch beside its logs,
as a reference, and the logs lose it again before anybody looks. Nothing is copied and nothing
waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.numerics import skips
from quickfit.tuning.numerics.backend import require_tensorflow
from quickfit.tuning.numerics.spoilable import Spoilable

# Models, tensors and variables are `Any`: TensorFlow and Keras have no types of their own.

# Under this name a step hands out its batch and its counts, beside its logs.
_HANDED = "quickfit"


def guard_model(model: Any) -> Any:
    """Guard the training of a compiled model, and return its guarded optimizer.

    The optimizer becomes a `GuardedOptimizer`, and what a bad batch would spoil besides the
    weights is kept: the statistics of BatchNormalization and the metrics of the epoch. With a
    `LossScaleOptimizer`, which leaves bad updates out by itself, only these are kept. The train
    function is made anew at the next `fit`.

    Raises:
        UsageError: the model has no optimizer, or Keras does not run on TensorFlow.
    """
    import keras

    require_tensorflow("guard_model", keras.config.backend())
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        raise UsageError(
            f"the model {getattr(model, 'name', model)!r} has no optimizer, so there are no "
            "updates to guard. Call model.compile(optimizer, loss) before guard_model(model)."
        )
    if not skips.leaves_out(optimizer):
        from quickfit.tuning.numerics.guarded import GuardedOptimizer

        model.optimizer = GuardedOptimizer(optimizer)
        model.train_function = None
    follow(model)
    return model.optimizer


def follow(model: Any) -> Follower:
    """Follow the steps of a compiled model whose optimizer leaves bad updates out."""
    follower = getattr(model.train_step, "__self__", None)
    if not isinstance(follower, Follower):
        follower = Follower(model)
    return follower


class Follower:
    """What the steps of one model did.

    Args:
        model: compiled; its `train_step` and `make_train_function` are replaced on the object.
    """

    def __init__(self, model: Any) -> None:
        import tensorflow as tf

        self.model = model
        self._handed: dict[str, Any] | None = None  # by the last step
        with model.distribute_strategy.scope():
            first = tf.VariableAggregation.ONLY_FIRST_REPLICA
            zero = {"trainable": False, "dtype": "int64", "aggregation": first}
            self._skipped = tf.Variable(0, name="skipped", **zero)
            self._in_a_row = tf.Variable(0, name="skipped_in_a_row", **zero)
        self._step: Callable[[Any], Any] = model.train_step
        self._make: Callable[..., Any] = model.make_train_function
        model.train_step = self.train_step
        model.make_train_function = self.make_train_function
        model.train_function = None

    @property
    def skipped(self) -> int:
        """How many updates were left out since the model is followed."""
        return self._read("skipped")

    @property
    def in_a_row(self) -> int:
        """How many of the last updates were left out one after the other."""
        return self._read("in_a_row")

    def forget_row(self) -> None:
        """Begin to count anew what is left out in a row."""
        self._in_a_row.assign(0)
        self._handed = None

    @property
    def batch(self) -> Any:
        """The batch of the last step; None where it is not known, as with several replicas."""
        return self._handed["batch"] if self._handed else None

    def train_step(self, data: Any) -> Any:
        """Take the model's own step; then count it, and mend what it spoiled."""
        optimizer = self.model.optimizer
        if not skips.leaves_out(optimizer):  # compiled again since
            return self._step(data)
        if not optimizer.built and self.model.trainable_variables:
            optimizer.build(self.model.trainable_variables)  # its state is read before the step
        spoilable = Spoilable(self.model)
        before = skips.state_of(optimizer)
        logs = self._step(data)
        left_out = skips.was_left_out(optimizer, before)
        handed = {"batch": data, **self._counted(left_out)}
        # A float16 gradient that overflows says nothing against the forward pass.
        spoilable.put_back_if(left_out, only_if_bad=not skips.is_guarded(optimizer))
        return {**logs, _HANDED: handed} if self._can_hand_out(logs) else logs

    def make_train_function(self, force: bool = False) -> None:
        """Make the train function of `fit` as Keras does, and let it take the batch out."""
        made = self.model.train_function
        self._make(force)
        if self.model.train_function is not made:
            self.model.train_function = self._taking(self.model.train_function)

    def _taking(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def take(iterator: Any) -> Any:
            logs = function(iterator)
            if isinstance(logs, dict):
                self._handed = logs.pop(_HANDED, None)
            return logs

        return take

    def _counted(self, left_out: Any) -> dict[str, Any]:
        import tensorflow as tf

        one = tf.cast(left_out, tf.int64)
        self._skipped.assign_add(one)
        self._in_a_row.assign((self._in_a_row + one) * one)
        return {name: tf.identity(one) for name, one in self._counters().items()}

    def _counters(self) -> dict[str, Any]:
        return {"skipped": self._skipped, "in_a_row": self._in_a_row}

    def _read(self, name: str) -> int:
        # What the step handed out is there already; to read a variable takes a tenth of a
        # millisecond.
        handed = self._handed or self._counters()
        return int(handed[name].numpy())

    def _can_hand_out(self, logs: Any) -> bool:
        # With several replicas Keras would add their batches up, as it does with losses.
        return isinstance(logs, dict) and self.model.distribute_strategy.num_replicas_in_sync == 1

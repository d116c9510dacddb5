"""Leaves out updates that are not finite, inside the graph, and follows the steps of `fit`.

    finite = is_finite(loss, gradients)
    apply_if_finite(lambda: optimizer.apply(gradients, weights), finite, skipped)

Both work eagerly, in a `tf.function` and under XLA.

A Keras callback sees neither updates nor batches. `fit` takes batches inside the compiled function,
so that `train_step` is the only place where they can be had; the step returns its batch beside its
logs, as a reference, and the logs lose it again before anybody looks. Nothing is copied and nothing
waits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from quickfit.errors import UsageError

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
    if not leaves_out(optimizer):
        from quickfit.tuning.numerics.guarded import GuardedOptimizer

        model.optimizer = GuardedOptimizer(optimizer)
        model.train_function = None
    follow_model(model)
    return model.optimizer


def follow_model(model: Any) -> StepFollower:
    """Follow the steps of a compiled model whose optimizer leaves bad updates out."""
    follower = getattr(model.train_step, "__self__", None)
    if not isinstance(follower, StepFollower):
        follower = StepFollower(model)
    return follower


class StepFollower:
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
        if not leaves_out(optimizer):  # compiled again since
            return self._step(data)
        if not optimizer.built and self.model.trainable_variables:
            optimizer.build(self.model.trainable_variables)  # its state is read before the step
        spoilable = SpoilableState(self.model)
        before = skip_state(optimizer)
        logs = self._step(data)
        left_out = was_left_out(optimizer, before)
        handed = {"batch": data, **self._counted(left_out)}
        # A float16 gradient that overflows says nothing against the forward pass.
        spoilable.put_back_if(left_out, only_if_bad=not is_guarded(optimizer))
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


# Tensors and variables are `Any`: TensorFlow has no types of its own.


def is_finite(loss: Any, gradients: Sequence[Any]) -> Any:
    """Return a scalar tensor: True where the loss and all gradients are finite.

    Squares are added up, so a gradient above 1.8e19 in float32 counts as not finite, too: its
    square is what Adam and RMSprop keep, and an infinite slot never becomes finite again.

    Args:
        loss: of any shape; None where it is not known.
        gradients: tensors or `IndexedSlices`; None is left out, as optimizers do.
    """
    import tensorflow as tf

    sums: dict[Any, list[Any]] = {}
    for values in _wide_floats([loss, *gradients]):
        # One pass over the values; `reduce_all(is_finite(…))` writes a tensor of booleans first.
        sums.setdefault(values.dtype, []).append(tf.nn.l2_loss(values))
    if not sums:
        return tf.constant(True)
    return tf.reduce_all(tf.stack([tf.math.is_finite(tf.add_n(each)) for each in sums.values()]))


def apply_if_finite(apply: Callable[[], None], finite: Any, counter: Any) -> None:
    """Call `apply` where `finite` is true; otherwise add one to `counter` and do nothing else.

    Args:
        apply: changes weights, slots and iterations. It must not create variables: build the
            optimizer before.
        finite: a scalar boolean tensor.
        counter: an integer variable that was made outside `tf.function`.
    """
    import tensorflow as tf

    def take() -> Any:
        apply()
        return tf.constant(0)

    def leave_out() -> Any:
        counter.assign_add(1)
        return tf.constant(0)

    tf.cond(finite, take, leave_out)


def _wide_floats(tensors: Sequence[Any]) -> list[Any]:
    """Return the numbers of the tensors in types whose squares have room."""
    import tensorflow as tf

    found = []
    for tensor in tensors:
        if tensor is None:
            continue
        values = tensor.values if isinstance(tensor, tf.IndexedSlices) else tensor
        values = tf.convert_to_tensor(values)
        if values.dtype.is_complex:
            values = tf.abs(values)
        if values.dtype.is_floating:
            # In float16 the square of 256 is infinite.
            found.append(tf.cast(values, tf.float32) if values.dtype.size < 4 else values)
    return found


# Tensors, variables and optimizers are `Any`: TensorFlow and Keras have no types of their own.


def leaves_out(optimizer: Any) -> bool:
    """Tell whether this optimizer leaves updates out that are not finite."""
    return is_guarded(optimizer) or is_loss_scaling(optimizer)


def is_guarded(optimizer: Any) -> bool:
    """Tell whether it is a `GuardedOptimizer`."""
    # Not imported for this: where nobody has loaded it, nobody has one, and Keras may be absent.
    module = sys.modules.get("quickfit.tuning.numerics.guarded")
    return module is not None and isinstance(optimizer, module.GuardedOptimizer)


def is_loss_scaling(optimizer: Any) -> bool:
    """Tell whether it is a `LossScaleOptimizer`."""
    import keras

    return isinstance(optimizer, keras.optimizers.LossScaleOptimizer)


def skip_state(optimizer: Any) -> Any:
    """Return what `was_left_out` needs to know from before the update."""
    import tensorflow as tf

    if is_guarded(optimizer):
        return tf.identity(optimizer.counter.value)
    if not optimizer.built:  # nor is the model: the step builds both
        return tf.constant(optimizer.initial_scale, tf.float32)
    return tf.identity(optimizer.dynamic_scale.value)


def was_left_out(optimizer: Any, before: Any) -> Any:
    """Return a scalar tensor: True where the update since `state_of` was left out."""
    import tensorflow as tf

    if is_guarded(optimizer):
        return tf.not_equal(optimizer.counter.value, before)
    # Its own counter of good steps begins again at 0 after a bad one, and where the scale grows.
    restarted = tf.equal(optimizer.step_counter.value, 0)
    return tf.logical_and(restarted, optimizer.dynamic_scale.value <= before)


# Models, tensors and variables are `Any`: TensorFlow and Keras have no types of their own.


class SpoilableState:
    """The values, before a step, of what its forward pass and its metrics change.

    Args:
        model: its statistics (BatchNormalization and the like) and metrics are kept.
    """

    def __init__(self, model: Any) -> None:
        metrics = {id(one): one for one in model.metrics_variables}
        statistics = [one for one in model.non_trainable_variables if id(one) not in metrics]
        self._statistics = _float_values(statistics)
        self._metrics = _float_values(list(metrics.values()))

    def put_back_if(self, left_out: Any, *, only_if_bad: bool) -> None:
        """Put back what was before the step.

        Args:
            left_out: a scalar boolean tensor: whether to do it at all.
            only_if_bad: leave everything as it is where all of it is finite.
        """
        import tensorflow as tf

        def put_back() -> Any:
            wanted = ~self._are_finite() if only_if_bad else tf.constant(True)
            _put_back(wanted, self._statistics)
            # Metrics that have seen nothing else stay NaN: put back, they would claim a loss of 0.
            counted = [tf.reduce_any(value != 0) for _, value in self._metrics]
            _put_back(wanted & tf.reduce_any(counted), self._metrics)
            return tf.constant(0)

        tf.cond(left_out, put_back, lambda: tf.constant(0))

    def _are_finite(self) -> Any:
        import tensorflow as tf

        pairs = [*self._statistics, *self._metrics]
        return tf.reduce_all([tf.reduce_all(tf.math.is_finite(one)) for one, _ in pairs])


def _float_values(variables: list[Any]) -> list[tuple[Any, Any]]:
    """Return the variables that hold fractions, each with its value."""
    import tensorflow as tf

    kept = [one.value for one in variables if "float" in str(one.dtype)]
    return [(one, tf.identity(one)) for one in kept]


def _put_back(wanted: Any, pairs: list[tuple[Any, Any]]) -> None:
    import tensorflow as tf

    for variable, value in pairs:
        variable.assign(tf.where(wanted, value, variable))


def require_tensorflow(what: str, backend: str) -> None:
    """Let nothing happen where Keras runs on another backend.

    Args:
        what: the function that was called.
        backend: as `keras.config.backend()` gives it.

    Raises:
        UsageError: Keras runs on another backend.
    """
    if backend != "tensorflow":
        raise UsageError(
            f"{what} works with Keras on TensorFlow, and this is Keras on {backend}. Set "
            "KERAS_BACKEND=tensorflow before keras is imported."
        )

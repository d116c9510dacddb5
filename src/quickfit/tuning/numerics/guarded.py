"""`GuardedOptimizer`: any Keras optimizer, with updates left out whose numbers are not finite.

    model.compile(GuardedOptimizer(keras.optimizers.Adam(1e-3)), loss)

It works in `fit`, under XLA, with several steps per execution and under `tf.distribute`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

# A subclass needs its base. Nothing imports this module but the package, when it is asked for it.
import keras  # noqa: TID253

from quickfit.errors import UsageError
from quickfit.tuning.numerics.guard import apply_if_finite, is_finite

# Tensors, variables and optimizers are `Any`: TensorFlow and Keras have no types of their own.


@keras.saving.register_keras_serializable(package="quickfit")
class GuardedOptimizer(keras.optimizers.Optimizer):  # type: ignore[misc]
    """Hand finite updates to another optimizer; count the others and leave everything as it was.

    Weights, slots and iterations are bit-identical after an update that was left out. What the
    forward pass itself changes (statistics of BatchNormalization, the mean loss that `fit` shows)
    is kept too when the model goes through `guard_model`.

    Args:
        inner_optimizer: an optimizer or its name. Clipping, accumulation and weight decay belong
            there. Not a `LossScaleOptimizer`: it leaves such updates out by itself.
        name: as of every Keras optimizer.
    """

    def __init__(self, inner_optimizer: Any, name: str | None = None) -> None:
        inner = _inner_optimizer(inner_optimizer)
        super().__init__(learning_rate=0.0, name=name)  # nobody reads it: see `learning_rate`
        self.inner_optimizer = inner
        self.counter = self.add_variable(
            shape=(), dtype="int64", aggregation="only_first_replica", name="skipped"
        )

    @property
    def skipped(self) -> int:
        """How many updates were left out because their numbers were not finite."""
        return int(self.counter.numpy())

    def build(self, variables: list[Any]) -> None:
        """Make the slots of the inner optimizer."""
        if not self.inner_optimizer.built:
            self.inner_optimizer.build(variables)
        super().build(variables)

    @property
    def variables(self) -> list[Any]:
        """The counter, and what the inner optimizer has."""
        return [*self._variables, *self.inner_optimizer.variables]

    def scale_loss(self, loss: Any) -> Any:
        """Return the loss as the inner optimizer wants it; NaN makes every gradient NaN.

        A loss can be NaN while its gradients are finite, such as with a part that is stopped.
        """
        import tensorflow as tf

        scaled = tf.convert_to_tensor(self.inner_optimizer.scale_loss(loss))
        one, nan = tf.ones((), scaled.dtype), tf.cast(float("nan"), scaled.dtype)
        return scaled * tf.where(tf.reduce_all(tf.math.is_finite(scaled)), one, nan)

    def apply(self, grads: Iterable[Any], trainable_variables: Any = None) -> None:
        """Update the weights where all gradients, of all replicas, are finite."""
        import tensorflow as tf

        gradients = list(grads)
        if not gradients:
            return
        weights = None if trainable_variables is None else list(trainable_variables)
        if not self.built and weights is not None:
            self.build(weights)
        finite = is_finite(None, gradients)
        if not tf.distribute.has_strategy():
            inner = self.inner_optimizer
            apply_if_finite(lambda: inner.apply(gradients, weights), finite, self.counter)
            return
        context = tf.distribute.get_replica_context()
        bad = context.all_reduce(tf.distribute.ReduceOp.SUM, tf.cast(~finite, tf.int32))
        context.merge_call(self._apply_everywhere, args=(bad, gradients, weights))

    def _apply_everywhere(self, strategy: Any, bad: Any, gradients: Any, weights: Any) -> None:
        # Optimizers leave their replica to update mirrored weights, which no branch of a
        # `tf.cond` may do: so the branches are taken outside of the replicas.
        each = strategy.extended.call_for_each_replica
        finite = strategy.experimental_local_results(bad)[0] == 0
        inner = self.inner_optimizer
        apply_if_finite(lambda: each(inner.apply, args=(gradients, weights)), finite, self.counter)

    @property
    def learning_rate(self) -> Any:
        """The inner optimizer's learning rate."""
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: Any) -> None:
        self.inner_optimizer.learning_rate = learning_rate

    @property
    def iterations(self) -> Any:
        """How many updates were made, without those left out."""
        return self.inner_optimizer.iterations

    def finalize_variable_values(self, var_list: Any) -> None:
        """Let the inner optimizer finish, as `fit` asks at its end."""
        self.inner_optimizer.finalize_variable_values(var_list)

    def save_own_variables(self, store: Any) -> None:
        """Save what the inner optimizer saves: either of the two can load it."""
        self.inner_optimizer.save_own_variables(store)

    def load_own_variables(self, store: Any) -> None:
        """Load what this or an unguarded optimizer saved."""
        self.inner_optimizer.load_own_variables(store)

    def get_config(self) -> dict[str, Any]:
        """Return what `from_config` needs."""
        inner = keras.saving.serialize_keras_object(self.inner_optimizer)
        return {"name": self.name, "inner_optimizer": inner}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> GuardedOptimizer:
        """Make the optimizer that `get_config` described."""
        inner = keras.saving.deserialize_keras_object(
            config["inner_optimizer"], custom_objects=custom_objects
        )
        return cls(inner, name=config.get("name"))


def _inner_optimizer(given: Any) -> Any:
    """Return the optimizer to wrap.

    Raises:
        UsageError: it is none, or one that leaves bad updates out by itself.
    """
    try:
        inner = keras.optimizers.get(given)
    except ValueError:
        inner = None
    if not isinstance(inner, keras.optimizers.Optimizer):
        raise UsageError(
            f"GuardedOptimizer wraps a Keras optimizer or the name of one, not {given!r}. "
            "Such as: GuardedOptimizer(keras.optimizers.Adam(1e-3))"
        )
    if isinstance(inner, keras.optimizers.LossScaleOptimizer | GuardedOptimizer):
        kind = type(inner).__name__
        raise UsageError(
            f"a {kind} needs no GuardedOptimizer: it leaves updates out that are not finite by "
            f"itself. Compile with the {kind} as it is."
        )
    return inner

"""One step of training, taken apart so that each part can be run and looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.numerics import hints
from quickfit.tuning.numerics.replay import unchanged
from quickfit.tuning.numerics.tally import largest_of

# Models, tensors and losses are `Any`: TensorFlow and Keras have no types of their own.


@dataclass(frozen=True)
class Step:
    """A model and what one step of it needs.

    Attributes:
        model: it has weights already.
        x: inputs as Keras takes them.
        y: labels; None where the batch has none.
        sample_weight: None where the batch has none.
        loss: a Keras loss, its name or a function; None for the compiled one.
        optimizer: None where updates are not looked at.
        kept: what was run already, so that it is not run again.
    """

    model: Any
    x: Any
    y: Any
    sample_weight: Any
    loss: Any
    optimizer: Any
    kept: dict[str, Any] = field(default_factory=dict)

    def forward(self) -> Any:
        """Return the outputs of the model, as in training; each time from the same state.

        Statistics that one pass has spoiled would be blamed in the next.
        """
        import tensorflow as tf

        with unchanged(self.model, None):
            wants_training = getattr(self.model, "_call_has_training_arg", True)
            outputs = self.model(self.x, **({"training": True} if wants_training else {}))
            statistics = {one.path: one.value for one in self.model.non_trainable_weights}
            self.kept["statistics"] = {path: tf.identity(one) for path, one in statistics.items()}
        return outputs

    def outputs(self) -> Any:
        """Return the outputs of the first forward pass."""
        if "outputs" not in self.kept:
            self.kept["outputs"] = self.forward()
        return self.kept["outputs"]

    def total_loss(self, outputs: Any) -> Any:
        """Return the whole loss, with what layers add to it.

        Raises:
            UsageError: nobody knows how to compute it.
        """
        import tensorflow as tf

        if self.loss is not None:
            return tf.add_n([self._given_loss(outputs), *self.added_losses()])
        self._require_loss()
        return tf.convert_to_tensor(
            self.model.compute_loss(
                self.x, self.y, outputs, sample_weight=self.sample_weight, training=True
            )
        )

    def added_losses(self) -> list[Any]:
        """Return what layers and regularizers added to the loss in the last forward pass."""
        import tensorflow as tf

        return [tf.cast(tf.convert_to_tensor(one), tf.float32) for one in self.model.losses]

    def loss_name(self) -> str:
        """Return what to call the loss."""
        loss = self.loss if self.loss is not None else getattr(self.model, "loss", None)
        if isinstance(loss, str):
            return loss
        name = getattr(loss, "name", None) or getattr(loss, "__name__", None)
        return str(name) if name else "loss"

    def learning_rate(self) -> float | None:
        """Return the learning rate that the next update would use."""
        import keras

        if self.optimizer is None:
            return None
        return float(keras.ops.convert_to_tensor(self.optimizer.learning_rate).numpy())

    def exploded(self) -> str:
        """Say that the weights have exploded; empty if they have not."""
        largest = largest_of(one.value for one in self.model.trainable_variables)
        return hints.of_weights(largest, self.learning_rate())

    def _given_loss(self, outputs: Any) -> Any:
        import keras
        import tensorflow as tf

        function = keras.losses.get(self.loss)
        if isinstance(function, keras.losses.Loss):
            value = function(self.y, outputs, sample_weight=self.sample_weight)
        else:
            value = function(self.y, outputs)
        return tf.reduce_mean(tf.cast(value, tf.float32))

    def _require_loss(self) -> None:
        name = self.model.name
        has_loss = getattr(self.model, "loss", None) is not None
        if not has_loss and not self.model.losses:
            raise UsageError(
                f"weights, inputs and layers of {name!r} are finite, and it has no loss to look "
                "at further: compile it, or give one, such as "
                "find_nan(model, batch, loss='mse')."
            )
        if has_loss and self.y is None:
            raise UsageError(
                f"weights, inputs and layers of {name!r} are finite, and the batch has no labels "
                "to compute the loss with: give find_nan(model, (x, y))."
            )

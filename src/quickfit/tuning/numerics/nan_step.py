"""One step of training, taken apart so that each part can be run and looked at."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from quickfit.compression.keras_internals import with_sublayers
from quickfit.errors import UsageError
from quickfit.tuning.numerics import hints
from quickfit.tuning.numerics.op_watch import NumberTally, largest_of

# Models, tensors and losses are `Any`: TensorFlow and Keras have no types of their own.


@dataclass(frozen=True)
class NanStep:
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

        with restore_variables(self.model, None):
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


# Models, tensors and variables are `Any`: TensorFlow and Keras have no types of their own.


@contextmanager
def restore_variables(model: Any, optimizer: Any) -> Iterator[None]:
    """Put back all variables afterwards: weights, statistics, seeds, metrics and slots."""
    import tensorflow as tf

    variables = _all_variables(model, optimizer)
    # Not copied: TensorFlow writes elsewhere while somebody holds the old value.
    values = [tf.identity(one) for one in variables]
    try:
        yield
    finally:
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)


@contextmanager
def run_eagerly() -> Iterator[None]:
    """Run every `tf.function` as plain Python, so that each value can be looked at."""
    import tensorflow as tf

    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)


def _all_variables(model: Any, optimizer: Any) -> list[Any]:
    import tensorflow as tf

    found = [one.value for one in (*model.variables, *getattr(model, "metrics_variables", []))]
    for layer in with_sublayers(model):  # variables of TensorFlow's own that a layer keeps
        found += [one for one in vars(layer).values() if isinstance(one, tf.Variable)]
    if optimizer is not None:
        found += [one.value for one in optimizer.variables]
    return list({id(one): one for one in found}.values())


_WIDTH = 96
_KIND_WORDS = {
    "weight": "the weight",
    "input": "the input",
    "label": "the label",
    "layer": "the layer",
    "op": "the operation",
    "loss": "the loss",
    "gradient": "the gradient",
    "update": "the update of",
}

# What a step does not make but begins with.
_GIVEN = ("weight", "input", "label")


@dataclass(frozen=True)
class Culprit:
    """What went non-finite first in one step of training.

    Attributes:
        kind: `weight`, `input`, `label`, `layer`, `op`, `loss`, `gradient` or `update`, in the
            order in which a step goes through them.
        name: of the weight, layer or loss; layers inside of models have the names of these in
            front, such as `encoder/block/scale`.
        found: the numbers that are not finite.
        hint: what such things usually are, and what to do.
        given: what went in there, each with its name.
        op: the operation inside, as TensorFlow calls it (`Log`, `RealDiv`); None if unknown.
        place: the line that asked for it (`train.py:41`), where it is not inside a library.
        weights: for a gradient: the weights whose gradients are not finite, nearest to the loss
            first.
    """

    kind: str
    name: str
    found: NumberTally
    hint: str
    given: tuple[tuple[str, NumberTally], ...] = ()
    op: str | None = None
    place: str | None = None
    weights: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The answer in one line."""
        if self.kind in _GIVEN:
            state = "does not fit the model" if self.found.is_finite else "is not finite"
            return f"{self._subject()} {state}, before the step begins"
        where = f", at {self.place}" if self.place else ""
        by = f", in the operation {self.op}{where}" if self.op else where
        return f"{self._subject()} went non-finite first{by}"

    def __str__(self) -> str:
        rows = [("found", str(self.found))]
        rows += [(f"{name}", str(numbers)) for name, numbers in self.given]
        if self.weights:
            more = f" and {len(self.weights) - 3} more" if len(self.weights) > 3 else ""
            rows.append(("weights", ", ".join(self.weights[:3]) + more))
        wide = max(len(name) for name, _ in rows)
        lines = [f"  {name:<{wide}}  {text}" for name, text in rows]
        hint = textwrap.wrap(self.hint, _WIDTH, initial_indent="  ", subsequent_indent="  ")
        return "\n".join([self.headline, *lines, *hint])

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__} {self.kind}: {self}>"

    def _subject(self) -> str:
        what = _KIND_WORDS[self.kind]
        if self.kind == "gradient":
            return f"{what}, going back through `{self.name}`,"
        return f"{what} `{self.name}`"

"""The graph of one step: forward, loss, metrics, gradients, and an update of good numbers only.

Under `tf.distribute` the forward pass and the update run in each replica, and every decision is
made once between them: a branch within a replica cannot hold an update.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.train_step.batches import as_floats, shapes_of, warn_of_wide_floats, warn_user
from quickfit.tuning.train_step.optimizer import (
    batch_statistics,
    reduced_already,
    scaler_in,
    takes_training,
)

# Tensors, models and optimizers are `Any`: TensorFlow and Keras have no types of their own.


@dataclass(frozen=True)
class StepParts:
    """What a step is made of.

    Args:
        model: the model that is trained.
        weights: what is trainable in it.
        scores: its loss and metrics.
        optimizer: built for the weights, and scaling the loss where that is needed.
        strategy: the strategy whose replicas share each batch; the default one has one.
        accumulate: micro-batches per update.
        guard: leave an update out where its numbers are not finite.
    """

    model: Any
    weights: list[Any]
    scores: StepScores
    optimizer: Any
    strategy: Any
    accumulate: int
    guard: bool


class StepGraph:
    """Builds the graph of a step, and holds the variables that are the step's own."""

    def __init__(self, parts: StepParts) -> None:
        import tensorflow as tf

        self.parts = parts
        self.skipped = tf.Variable(0, trainable=False, dtype="int64", name="skipped")
        self.traces = 0
        self._sums = (
            GradientAccumulator(parts.weights, parts.strategy) if parts.accumulate > 1 else None
        )
        self.scaler = scaler_in(parts.optimizer)
        self._takes_training = takes_training(parts.model)
        self.is_rehearsed = False

    @property
    def pending(self) -> Any:
        """How many micro-batches wait for their update: a variable, or None without them."""
        return self._sums.pending if self._sums else None

    def step(self, batch: Batch) -> Any:
        """Build one step on a batch and return its loss."""
        self.traces += 1
        self._check_weights()
        strategy = self.parts.strategy
        loss, gradients, finite = strategy.run(self._differentiate, args=(batch,))
        if self.parts.guard and self.scaler is None:
            self._guarded(gradients, self._first(finite))
        else:
            # A scaled loss overflows now and then: only its optimizer may judge that.
            self._take(gradients)
        return strategy.reduce("SUM", loss, axis=None)

    def flush(self) -> None:
        """Build the update with the mean of what is pending."""
        if self._sums is not None:
            self._update_from_sums()

    def _first(self, value: Any) -> Any:
        return self.parts.strategy.experimental_local_results(value)[0]

    def rehearse(self, batch: Batch) -> None:
        """Play the first step through on shapes, before anything is compiled."""
        warn_of_wide_floats(batch)
        rehearse_step(self.parts, batch, self._forward)
        self._check_weights()
        self.is_rehearsed = True

    def _check_weights(self) -> None:
        now = {id(one) for one in self.parts.model.trainable_variables}
        if now != {id(one) for one in self.parts.weights}:
            raise UsageError(
                f"what is trainable in the model {self.parts.model.name!r} has changed since "
                f"make_train_step: {len(self.parts.weights)} weights then, {len(now)} now. Make a "
                "new step (and a new optimizer) after changing `trainable`, and build every layer "
                "before: call the model once on a batch."
            )

    def _forward(self, batch: Batch) -> Any:
        if self._takes_training:
            return self.parts.model(batch[0], training=True)
        return self.parts.model(batch[0])

    def _differentiate(self, batch: Batch) -> tuple[Any, list[Any], Any]:
        """Return loss, gradients and whether they are finite; the same in every replica."""
        import tensorflow as tf

        parts = self.parts
        batch = as_floats(batch)
        kept = self._kept()
        before = [tf.identity(one.value) for one in kept]
        with tf.GradientTape() as tape:
            outputs = self._forward(batch)
            loss = parts.scores.loss(batch, outputs)
            scaled = parts.optimizer.scale_loss(loss)
        gradients = gradients_of(tape, scaled, parts.weights)
        gradients = added_over_replicas(gradients)
        parts.scores.update(batch, outputs)
        finite = self._is_finite(loss, gradients)
        for variable, old in zip(kept, before, strict=True):
            variable.assign(tf.where(finite, variable.value, old))
        return loss, gradients, finite

    def _kept(self) -> list[Any]:
        """Return what a bad batch would spoil besides the weights, where it is to be kept."""
        if not self.parts.guard:
            return []
        return [*batch_statistics(self.parts.model), *self.parts.scores.variables()]

    def _is_finite(self, loss: Any, gradients: list[Any]) -> Any:
        import tensorflow as tf

        from quickfit.tuning.numerics.guard import is_finite

        if not self.parts.guard:
            return tf.constant(True)
        [everywhere] = added_over_replicas([loss])
        return is_finite(everywhere, [one for one in gradients if one is not None])

    def _guarded(self, gradients: Any, finite: Any) -> None:
        from quickfit.tuning.numerics.guard import apply_if_finite

        apply_if_finite(lambda: self._take(gradients), finite, self.skipped)

    def _take(self, gradients: Any) -> None:
        import tensorflow as tf

        if self._sums is None:
            self._update(self._apply, gradients)
            return
        self.parts.strategy.run(self._sums.add, args=(gradients,))
        count = self._sums.pending.assign_add(1)
        tf.cond(count >= self.parts.accumulate, self._update_from_sums, lambda: None)

    def _update_from_sums(self) -> None:
        assert self._sums is not None
        self._update(self._apply_mean)
        self._sums.pending.assign(0)

    def _update(self, apply: Callable[..., Any], *args: Any) -> None:
        """Update the weights in every replica, and count what the scaled loss left out."""
        # Around all replicas: each of them is traced in a thread of its own.
        with reduced_already(self.parts.optimizer):
            overflows = self.parts.strategy.run(apply, args=args)
        if self.scaler is not None:
            self.skipped.assign_add(self._first(overflows))

    def _apply_mean(self) -> Any:
        assert self._sums is not None
        return self._apply(self._sums.take_mean())

    def _apply(self, gradients: list[Any]) -> Any:
        """Update the weights in a replica, and tell whether the gradients overflowed."""
        pairs = [
            (gradient, weight)
            for gradient, weight in zip(gradients, self.parts.weights, strict=True)
            if gradient is not None
        ]
        overflows = self._overflows([gradient for gradient, _ in pairs])
        self.parts.optimizer.apply_gradients(pairs)
        return overflows

    def _overflows(self, gradients: list[Any]) -> Any:
        import tensorflow as tf

        if self.scaler is None:
            return tf.constant(0, "int64")
        return tf.cast(tf.logical_not(self.scaler.check_finite(gradients)), "int64")


# Tensors and variables of TensorFlow are `Any`: they have no types of their own.


class GradientAccumulator:
    """The sum of gradients that wait for their update, and of how many micro-batches it is.

    Keras's own `gradient_accumulation_steps` cannot apply what is left over when the data end,
    and its branch does not run under every `tf.distribute` strategy.

    Args:
        weights: what the gradients are for.
        strategy: the strategy under which they are computed; each replica keeps its own sum.
    """

    def __init__(self, weights: list[Any], strategy: Any) -> None:
        import tensorflow as tf

        with strategy.scope():
            self._sums = [_zeros_like(weight) for weight in weights]
        self._is_reached = [False] * len(weights)
        # Counted once for all replicas, so it belongs to none of them.
        self.pending = tf.Variable(0, trainable=False, dtype="int64", name="pending")

    def add(self, gradients: list[Any]) -> None:
        """Add the gradients of one micro-batch, in a replica; None adds nothing."""
        for index, gradient in enumerate(gradients):
            if gradient is not None:
                self._is_reached[index] = True
                self._sums[index].assign_add(_dense_gradient(gradient, self._sums[index]))

    def take_mean(self) -> list[Any]:
        """Return the mean over what is pending and start again at zero, in a replica."""
        import tensorflow as tf

        count = self.pending.read_value()
        means = [
            # A weight without a gradient is left alone: zero would still decay it.
            total.read_value() / tf.cast(count, total.dtype) if is_reached else None
            for total, is_reached in zip(self._sums, self._is_reached, strict=True)
        ]
        for total in self._sums:
            total.assign(tf.zeros(total.shape, total.dtype))
        return means


def _zeros_like(weight: Any) -> Any:
    import tensorflow as tf

    return tf.Variable(
        tf.zeros(weight.shape, weight.dtype),
        trainable=False,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
    )


def _dense_gradient(gradient: Any, like: Any) -> Any:
    """Return the gradient of an embedding as a whole tensor."""
    import tensorflow as tf

    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    empty = tf.zeros(like.shape, gradient.dtype)
    return tf.tensor_scatter_nd_add(empty, gradient.indices[:, tf.newaxis], gradient.values)


# Tensors and variables are `Any`: TensorFlow and Keras have no types of their own.


def gradients_of(tape: Any, loss: Any, weights: list[Any]) -> list[Any]:
    """Return the gradient of the loss for each weight, None where the loss does not depend on it.

    Raises:
        UsageError: the loss depends on no weight at all.
    """
    gradients = list(tape.gradient(loss, [weight.value for weight in weights]))
    missing = [w.path for w, g in zip(weights, gradients, strict=True) if g is None]
    if len(missing) == len(weights):
        raise UsageError(
            "the loss does not depend on any trainable weight, so there is nothing to update. "
            "Where it is a function of your own, it must be computed from the model's output "
            "with TensorFlow or keras.ops, without NumPy, rounding or argmax."
        )
    if missing:
        warn_user(
            f"the loss does not depend on {len(missing)} of {len(weights)} trainable "
            f"weights, which stay as they are: {', '.join(missing[:3])}"
            f"{' ...' if len(missing) > 3 else ''}. Set `trainable = False` on their layers to "
            "silence this.",
        )
    return gradients


def added_over_replicas(tensors: list[Any]) -> list[Any]:
    """Return the sums over all replicas, in a replica; None stays None."""
    import tensorflow as tf

    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return tensors
    present = [one for one in tensors if one is not None]
    sums = iter(context.all_reduce(tf.distribute.ReduceOp.SUM, present))
    return [None if one is None else next(sums) for one in tensors]


# Tensors and models are `Any`: TensorFlow and Keras have no types of their own.


def rehearse_step(parts: StepParts, batch: Batch, forward: Callable[[Batch], Any]) -> None:
    """Let losses and metrics make their variables, from the shapes of a batch.

    Keras makes them when it first sees labels and outputs. A replica, or a branch of a compiled
    step, is too late for that. Nothing is computed, and no variable of the model is changed.
    """
    import keras

    failed: list[Exception] = []

    def play(played: Batch) -> Any:
        try:
            outputs = forward(played)
            if parts.scores.has_loss:
                parts.scores.loss(played, outputs)
            parts.scores.update(played, outputs)
        except Exception as error:
            failed.append(error)
            raise
        return outputs

    shapes = keras.tree.map_structure(_symbolic_leaf, batch)
    layer = keras.layers.Layer(name="rehearsal")
    layer.call = play
    with parts.strategy.scope():
        try:
            layer.compute_output_spec(shapes)
        except Exception:
            if failed:  # Keras would put words about a layer that nobody wrote around it
                raise failed[0] from failed[0].__cause__
            raise


def _symbolic_leaf(leaf: Any) -> Any:
    import keras
    import tensorflow as tf

    if leaf is None:
        return None
    dtype = keras.config.floatx() if leaf.dtype == tf.float64 else leaf.dtype.name
    kind = {}
    if isinstance(leaf, (tf.SparseTensor, tf.SparseTensorSpec)):
        kind = {"sparse": True}
    elif isinstance(leaf, (tf.RaggedTensor, tf.RaggedTensorSpec)):
        kind = {"ragged": True}
    return keras.KerasTensor(leaf.shape, dtype=dtype, **kind)


# Tensors, models, losses and metrics of Keras are `Any`: they have no types of their own.
Batch = tuple[Any, Any, Any]  # x, y, sample_weight

_MEANS = ("sum_over_batch_size", "mean", "mean_with_sample_weight")

_NO_LOSS = (
    "there is no loss: the model is compiled without one, and no layer adds one. Give it to "
    'make_train_step, make_train_step(model, "mse"), or to compile.'
)


class StepScores:
    """What a step is judged by.

    Args:
        model: the model that is trained; the losses of its layers are part of the loss.
        scorer: a compiled Keras model that holds loss and metrics: the model itself, or one
            without layers.
    """

    def __init__(self, model: Any, scorer: Any) -> None:
        self._model = model
        self._scorer = scorer
        self._adds_layers = scorer is model
        self._is_custom = scorer is model and _overrides_loss(model)
        # Losses that layers add are only there when the model really runs.
        self.has_loss = scorer.loss is not None
        self.is_mean = _is_mean(scorer.loss)

    def loss(self, batch: Batch, outputs: Any) -> Any:
        """Return the loss, of which the sum over replicas is the loss of the whole batch."""
        import tensorflow as tf

        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        loss = self._computed(batch, outputs)
        if self._is_custom or (replicas == 1 and self._adds_layers):
            return loss
        # Every replica has the same layers; their losses count once, not once for each.
        layers = _sum_of(self._model.losses, loss.dtype) / replicas
        if self._adds_layers:
            loss -= layers
        if replicas > 1 and self.is_mean:
            loss *= _share_of_examples(batch, replicas, loss.dtype)
        return loss + layers

    def update(self, batch: Batch, outputs: Any) -> None:
        """Show a batch to the metrics."""
        x, y, sample_weight = batch
        self._scorer.compute_metrics(x, y, outputs, sample_weight=sample_weight)

    def results(self) -> dict[str, Any]:
        """Return the metrics since they were reset, without Keras's own mean of the loss."""
        results = dict(self._scorer.get_metrics_result())
        results.pop("loss", None)
        return results

    def reset(self) -> None:
        """Start the metrics anew."""
        self._scorer.reset_metrics()

    def variables(self) -> list[Any]:
        """Return what the metrics keep."""
        return list(self._scorer.metrics_variables)

    def _computed(self, batch: Batch, outputs: Any) -> Any:
        x, y, sample_weight = batch
        try:
            loss = self._scorer.compute_loss(x=x, y=y, y_pred=outputs, sample_weight=sample_weight)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if self._is_custom:
                raise
            if not self.has_loss:
                raise UsageError(_NO_LOSS) from error
            raise UsageError(_label_mismatch_error(self._scorer.loss, y, outputs, error)) from error
        if len(loss.shape):
            raise UsageError(
                f"the loss is not one number but has the shape {shapes_of(loss)}. Give the loss a "
                'reduction: `reduction="sum_over_batch_size"` is the mean over the batch.'
            )
        return loss


def scorer_for(model: Any, loss: Any, metrics: Any) -> Any:
    """Return a model without layers that holds this loss and these metrics for `model`."""
    import keras

    _check_names(loss)
    if metrics and not isinstance(metrics, (list, tuple, dict)):
        metrics = [metrics]
    scorer = keras.Model(name=f"{model.name}_scores")
    if hasattr(model, "output_names"):
        scorer.output_names = list(model.output_names)
    scorer.compile(optimizer=None, loss=loss, metrics=metrics or None)
    return scorer


def _check_names(loss: Any) -> None:
    import keras

    for name in keras.tree.flatten(loss):
        if not isinstance(name, str) or name.lower() in ("crossentropy", "ce"):
            continue
        try:
            keras.losses.get(name)
        except ValueError as error:
            raise UsageError(
                f"Keras has no loss {name!r}. Names are those of its functions, such as "
                '"sparse_categorical_crossentropy" or "mean_squared_error".'
            ) from error


def _overrides_loss(model: Any) -> bool:
    import keras

    return type(model).compute_loss is not keras.Model.compute_loss


def _is_mean(loss: Any) -> bool:
    import keras

    reductions = [getattr(one, "reduction", "mean") for one in keras.tree.flatten(loss)]
    return all(reduction in _MEANS for reduction in reductions)


def _sum_of(losses: list[Any], dtype: Any) -> Any:
    import tensorflow as tf

    parts = [tf.reduce_sum(tf.cast(one, dtype)) for one in losses]
    return tf.add_n(parts) if parts else tf.zeros((), dtype)


def _share_of_examples(batch: Batch, replicas: int, dtype: Any) -> Any:
    """Return the weight of this replica's mean: 1, unless its part of the batch is not even."""
    import tensorflow as tf

    examples = tf.cast(tf.shape(tf.nest.flatten(batch[0])[0])[0], dtype)
    context = tf.distribute.get_replica_context()
    if context is None:  # a rehearsal, outside of any replica
        return tf.ones((), dtype)
    everywhere = context.all_reduce(tf.distribute.ReduceOp.SUM, examples)
    return examples * tf.cast(replicas, dtype) / everywhere


def _label_mismatch_error(loss: Any, labels: Any, outputs: Any, error: Exception) -> str:
    name = getattr(loss, "name", None) or getattr(loss, "__name__", None) or str(loss)
    reason = str(error).strip() or type(error).__name__
    return (
        f"the loss `{name}` cannot compare y of shape {shapes_of(labels)} with the model's output "
        f"of shape {shapes_of(outputs)}.\nKeras says: {reason}\n"
        "Classes as whole numbers go with SparseCategoricalCrossentropy, one-hot rows with "
        "CategoricalCrossentropy; for most other losses y has the shape of the output."
    )

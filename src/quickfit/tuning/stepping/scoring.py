"""The loss and the metrics of a step, computed by Keras as `fit` computes them."""

from __future__ import annotations

from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.stepping.layouts import shapes_of

# Tensors, models, losses and metrics of Keras are `Any`: they have no types of their own.
Batch = tuple[Any, Any, Any]  # x, y, sample_weight

_MEANS = ("sum_over_batch_size", "mean", "mean_with_sample_weight")

_NO_LOSS = (
    "there is no loss: the model is compiled without one, and no layer adds one. Give it to "
    'make_train_step, make_train_step(model, "mse"), or to compile.'
)


class Scores:
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
            raise UsageError(_mismatch(self._scorer.loss, y, outputs, error)) from error
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


def _mismatch(loss: Any, labels: Any, outputs: Any, error: Exception) -> str:
    name = getattr(loss, "name", None) or getattr(loss, "__name__", None) or str(loss)
    reason = str(error).strip() or type(error).__name__
    return (
        f"the loss `{name}` cannot compare y of shape {shapes_of(labels)} with the model's output "
        f"of shape {shapes_of(outputs)}.\nKeras says: {reason}\n"
        "Classes as whole numbers go with SparseCategoricalCrossentropy, one-hot rows with "
        "CategoricalCrossentropy; for most other losses y has the shape of the output."
    )

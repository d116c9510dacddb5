"""What is timed of a Keras model: predictions and a training step, on a copy of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quickfit.compression.graph import Graph
from quickfit.compression.weighing.feeding import Feed
from quickfit.compression.weighing.tracing import without_tracing_advice

__all__ = ["KerasJobs", "without_tracing_advice"]

# Models and tensors are `Any`: Keras has no types of its own.
Job = Callable[[], object]


class KerasJobs:
    """The jobs of one model, which share one copy of it.

    Args:
        graph: of the model.
        copy: a copy of the model, which is run and changed.
        feed: samples for it; they are in memory when a job begins.
    """

    def __init__(self, graph: Graph, copy: Any, feed: Feed) -> None:
        self._graph, self._model, self._feed = graph, copy, feed

    def call(self, batch: int) -> Job:
        """Return a prediction by `model(x)`, compiled."""
        import tensorflow as tf

        x = self._tensors(batch)
        function = tf.function(lambda given: self._model(given, training=False))
        return lambda: _waited_for(function(x))

    def predict_on_batch(self, batch: int) -> Job:
        """Return a prediction by `model.predict_on_batch(x)`, arrays in and out."""
        x = self._feed.for_model(self._graph, batch)
        return lambda: self._model.predict_on_batch(x)

    def step(self, batch: int) -> Job | None:
        """Return a compiled training step with Adam; None where nothing can be trained.

        The loss is a stand-in that needs no labels: forward pass, gradients and update are what
        takes time. The learning rate is 0, so that every step does the same work.
        """
        import keras
        import tensorflow as tf

        model, x = self._model, self._tensors(batch)
        if not model.trainable_variables:
            return None
        optimizer = keras.optimizers.Adam(0.0)
        optimizer.build(model.trainable_variables)

        def step(given: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = _stand_in(model, given)
            gradients = tape.gradient(loss, model.trainable_variables)
            pairs = zip(gradients, model.trainable_variables, strict=True)
            optimizer.apply_gradients([(g, v) for g, v in pairs if g is not None])
            return loss

        function = tf.function(step)
        return lambda: _waited_for(function(x))

    def _tensors(self, batch: int) -> Any:
        import keras
        import tensorflow as tf

        structure = self._feed.for_model(self._graph, batch)
        return keras.tree.map_structure(tf.convert_to_tensor, structure)


def _stand_in(model: Any, given: Any) -> Any:
    import keras
    import tensorflow as tf

    outputs = keras.tree.flatten(model(given, training=True))
    squares = [tf.reduce_mean(tf.square(tf.cast(one, tf.float32))) for one in outputs]
    return tf.add_n([*squares, *(tf.cast(loss, tf.float32) for loss in model.losses)])


def _waited_for(outputs: Any) -> None:
    """Wait for results: a GPU returns before it has them."""
    import keras

    for one in keras.tree.flatten(outputs):
        one.numpy()

"""Finds loops in a model: TensorFlow's calibration ends the whole process where it meets one."""

from __future__ import annotations

from typing import Any

from quickfit.compression.quantizing.converting import Attempt, signature
from quickfit.compression.quantizing.quiet import quiet
from quickfit.errors import ModelError

# Models and graphs are `Any`: TensorFlow has no types of its own.

_LOOPS = ("While", "StatelessWhile", "If", "StatelessIf")


def check_no_loops(model: Any) -> None:
    """Refuse to calibrate a model with loops or branches, such as an LSTM that is not unrolled.

    TensorFlow 2.21 crashes on them (a segmentation fault, not an exception).

    Raises:
        ModelError: it has some; it says in which layers.
    """
    names = loops_in(model)
    if names:
        raise ModelError(
            f"The model '{model.name}' has loops or branches (in {', '.join(names[:3])}): int8 "
            "needs calibration, and TensorFlow's cannot go through them. Use kind='dynamic', which "
            "needs none, or give recurrent layers unroll=True where the number of steps is fixed."
        )


def loops_in(model: Any) -> list[str]:
    """Return the places of loops and branches, as the model's graph calls them."""
    specs = signature(model, Attempt((), batch_size=1))
    if specs is None:
        return []  # a subclassed model: only its export knows what it takes
    with quiet():
        graph = _graph(model, specs[0]).as_graph_def()
    nodes = [*graph.node, *(node for one in graph.library.function for node in one.node_def)]
    places = [node.name.rpartition("/")[0] or node.name for node in nodes if node.op in _LOOPS]
    return list(dict.fromkeys(place.partition("/")[2] or place for place in places))


def _graph(model: Any, specs: Any) -> Any:
    import keras
    import tensorflow as tf

    given = keras.tree.map_structure(
        lambda one: tf.TensorSpec(one.shape, one.dtype, name=one.name), specs
    )
    function = tf.function(lambda x: model(x, training=False))
    return function.get_concrete_function(given).graph

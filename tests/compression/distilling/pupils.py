"""Small students and teachers with every kind of end, and a question that they can learn."""

import numpy as np

from compression.models import settled

CLASSES = 3


def question(count=96, seed=0):
    """Return points and which of three corners they are near to."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, CLASSES, count)
    corners = np.eye(CLASSES, 4)[y]
    return (corners + 0.3 * draw.normal(size=(count, 4))).astype("float32"), y


def ending(end, *, norm=False, name="pupil"):
    """Return a model with one of these ends.

    Args:
        end: dense, layer, activation, operation, cast, logits, sigmoid, hidden or axis.
        norm: whether it has a batch normalization.
        name: of the model.
    """
    import keras

    layers = keras.layers
    inputs = keras.Input((4,), name="point")
    x = layers.Dense(8, activation="relu", name="first")(inputs)
    if norm:
        x = layers.BatchNormalization(name="norm")(x)
    ends = {
        "dense": lambda: layers.Dense(CLASSES, activation="softmax", name="head")(x),
        "layer": lambda: layers.Softmax(name="soft")(layers.Dense(CLASSES, name="head")(x)),
        "activation": lambda: layers.Activation("softmax")(layers.Dense(CLASSES)(x)),
        "operation": lambda: keras.ops.softmax(layers.Dense(CLASSES)(x)),
        "cast": lambda: layers.Activation("linear", dtype="float32")(
            layers.Dense(CLASSES, activation="softmax")(x)
        ),
        "logits": lambda: layers.Dense(CLASSES, name="head")(x),
        "sigmoid": lambda: layers.Dense(1, activation="sigmoid", name="head")(x),
        # Probabilities in a way that nobody can see through.
        "hidden": lambda: layers.Lambda(keras.ops.softmax, output_shape=(CLASSES,), name="own")(
            layers.Dense(CLASSES)(x)
        ),
        "axis": lambda: layers.Softmax(axis=0)(layers.Dense(CLASSES)(x)),
    }
    return settled(keras.Model(inputs, ends[end](), name=name))

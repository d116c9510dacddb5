"""Small models with one fault planted in each, and the data they are run on."""

import numpy as np


def batch(size=8):
    """Return inputs of four numbers and labels of one, all of them finite."""
    x = np.random.default_rng(0).normal(size=(size, 4)).astype("float32")
    return x, x[:, :1].copy()


def layer(name, function):
    """Return a layer that calls a function."""
    import keras

    class Custom(keras.layers.Layer):
        def call(self, inputs):
            return function(inputs)

    return Custom(name=name)


def model(middle=None, *, loss="mse", optimizer="sgd", output=None, **options):
    """Return Dense, BatchNormalization and Dropout, what is to be planted, and a Dense at the end.

    Args:
        middle: takes the tensor of 8 numbers and returns another.
        loss: to compile with.
        optimizer: to compile with.
        output: the activation of the last layer.
        options: of `compile`.
    """
    import keras
    from keras import layers

    keras.utils.set_random_seed(0)
    inputs = keras.Input((4,))
    hidden = layers.Dense(8, name="first")(inputs)
    hidden = layers.BatchNormalization(name="norm")(hidden)
    hidden = layers.Dropout(0.2, name="drop")(hidden)
    hidden = middle(hidden) if middle else hidden
    head = layers.Dense(1, name="last", activation=output, dtype="float32")(hidden)
    made = keras.Model(inputs, head, name="net")
    made.compile(optimizer, loss, **options)
    return made


def everything(made):
    """Return all that a model and its optimizer hold, as arrays."""
    held = [*made.variables, *made.metrics_variables, *made.optimizer.variables]
    return [np.array(one.numpy()) for one in held]


def are_equal(before, after):
    """Tell whether two lists of arrays are the same to the bit."""
    same = [one.tobytes() == other.tobytes() for one, other in zip(before, after, strict=True)]
    return all(same)

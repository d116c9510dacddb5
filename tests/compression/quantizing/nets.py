"""What the tests of quantisation need besides the models of all tests."""

import numpy as np

from quickfit.compression.keras_internals import with_sublayers


def state_of(model):
    """Return everything about a model that a transformation could spoil."""
    weights = [np.asarray(variable).tobytes() for variable in model.variables]
    layers = [(one.name, one.trainable, one.dtype_policy.name) for one in with_sublayers(model)]
    nodes = [(len(op._inbound_nodes), len(op._outbound_nodes)) for op in model.layers]
    optimizer = getattr(model, "optimizer", None)
    optimizer = optimizer and [np.asarray(variable).tobytes() for variable in optimizer.variables]
    return weights, layers, nodes, model.compiled, optimizer, model.name


def recurrent(*, unroll=False):
    """Return an LSTM with a Dense layer behind it."""
    import keras
    from keras import layers

    keras.utils.set_random_seed(0)
    inputs = keras.Input((4, 3), name="steps")
    return keras.Model(inputs, layers.Dense(2)(layers.LSTM(5, unroll=unroll)(inputs)))


def half_precision():
    """Return a convolutional model that computes in float16."""
    import keras
    from keras import layers

    keras.utils.set_random_seed(0)
    options = {"dtype": "mixed_float16"}
    inputs = keras.Input((6, 6, 2), name="image")
    x = layers.Conv2D(4, 3, activation="relu", **options)(inputs)
    x = layers.BatchNormalization(**options)(x)
    return keras.Model(inputs, layers.Dense(3, **options)(layers.Flatten(**options)(x)))


def without_a_form():
    """Return a model with an operation that LiteRT does not have."""
    import keras
    import tensorflow as tf
    from keras import layers

    class Digamma(layers.Layer):
        def call(self, x):
            return tf.math.digamma(x)

    return keras.Sequential([keras.Input((3,)), Digamma(name="digamma")], name="odd")


def branches():
    """Return a model of every kind of place that is rounded: branches, gates, odd activations."""
    import keras
    from keras import layers

    keras.utils.set_random_seed(0)
    inputs = keras.Input((8, 8, 3), name="image")
    x = layers.Conv2D(6, 3, padding="same", activation="relu", name="first")(inputs)
    x = layers.BatchNormalization(name="late_norm")(x)
    gate = layers.GlobalAveragePooling2D(keepdims=True, name="squeeze")(x)
    gate = layers.Conv2D(6, 1, activation="sigmoid", name="gate")(gate)
    x = layers.Multiply(name="gated")([x, gate])
    up = layers.Conv2DTranspose(4, 2, strides=2, activation="relu", name="up")(
        layers.MaxPooling2D(name="down")(x)
    )
    x = layers.Concatenate(name="joined")([x, up])
    x = layers.LeakyReLU(name="leaky")(layers.SeparableConv2D(5, 3, name="separable")(x))
    x = layers.Dense(4, activation="tanh", name="hidden")(layers.Flatten(name="flat")(x))
    return keras.Model(
        inputs, layers.Dense(3, activation="softmax", name="head")(x), name="branches"
    )

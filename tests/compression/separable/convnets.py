"""Small convolutional models to rewrite, and images for them that are smooth as real ones are."""

import numpy as np

from compression import models


def chain(**settings):
    """Return a model of two normalized convolutions, `settings` for the second one."""
    keras, layers = _keras()
    x = inputs = keras.Input((10, 10, 3), name="image")
    x = layers.Conv2D(12, 3, padding="same", activation="relu", name="stem")(x)
    x = layers.Conv2D(16, 3, padding="same", use_bias=False, name="first")(x)
    x = layers.ReLU()(layers.BatchNormalization(name="norm")(x))
    x = layers.Conv2D(16, 3, **{"name": "second", "activation": "relu", **settings})(x)
    x = layers.Dense(4, name="head")(layers.GlobalAveragePooling2D()(x))
    return _settled(keras.Model(inputs, x, name="chain"))


def one(**settings):
    """Return a model that is one convolution with 8 channels in and 16 out."""
    keras, layers = _keras()
    inputs = keras.Input((9, 9, 8))
    settings = {"filters": 16, "kernel_size": 3, "name": "conv", **settings}
    return _settled(keras.Model(inputs, layers.Conv2D(**settings)(inputs)))


def siamese():
    """Return a model that calls the same two convolutions on each of two images."""
    keras, layers = _keras()
    first = layers.Conv2D(12, 3, padding="same", activation="relu", name="first")
    second = layers.Conv2D(8, 3, name="second")
    left, right = keras.Input((8, 8, 8), name="left"), keras.Input((6, 6, 8), name="right")
    x = [layers.GlobalAveragePooling2D()(second(first(image))) for image in (left, right)]
    return _settled(keras.Model([left, right], layers.Subtract()(x)))


def recurrent():
    """Return a model that calls a convolution on its own results."""
    keras, layers = _keras()
    inputs = keras.Input((8, 8, 8))
    again = layers.Conv2D(8, 3, padding="same", activation="relu", name="again")
    x = layers.Conv2D(8, 3, padding="same", name="after")(again(again(inputs)))
    return _settled(keras.Model(inputs, x))


def nested():
    """Return a model with a nested one, whose convolution has the name of one outside."""
    keras, layers = _keras()
    inner_in = keras.Input((None, None, 8))
    x = layers.Conv2D(12, 3, padding="same", use_bias=False, name="conv")(inner_in)
    x = layers.ReLU(name="act")(layers.BatchNormalization(name="norm")(x))
    inner = keras.Model(inner_in, x, name="backbone")
    inputs = keras.Input((8, 8, 8))
    return _settled(keras.Model(inputs, layers.Conv2D(9, 3, name="conv")(inner(inputs))))


def images(model, count=64, seed=0):
    """Return smooth random images for a model, in the order of its inputs."""
    draw = np.random.default_rng(seed)
    arrays = [_smooth(draw.normal(size=(count, *t.shape[1:]))) for t in model.inputs]
    return arrays if len(arrays) > 1 else arrays[0]


def state_of(model):
    """Return everything about a model that a rewrite must not change."""
    flags = [(layer.name, layer.trainable) for layer in model.layers]
    return flags, model.compiled, [np.asarray(weight).copy() for weight in model.variables]


def assert_same_state(state, model):
    """Fail where a model is not what it was."""
    flags, is_compiled, weights = state_of(model)
    assert (flags, is_compiled) == state[:2]
    for now, before in zip(weights, state[2], strict=True):
        np.testing.assert_array_equal(now, before)


def apart(model, other, data):
    """Return how far the outputs of two models are apart, relative to the first one's."""
    pairs = zip(models.results(model, data), models.results(other, data), strict=True)
    return max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)


def _smooth(values):
    for axis in (1, 2, 1, 2):
        values = (values + np.roll(values, 1, axis) + np.roll(values, 2, axis)) / 2
    return values.astype("float32")


def _settled(model):
    """Return the model with weights that keep values as large as they are."""
    draw = np.random.default_rng(0)
    for weight in model.weights:
        fan = np.prod(weight.shape[:-1]) if len(weight.shape) > 1 else 25
        values = draw.normal(size=weight.shape) * np.sqrt(2 / fan)
        if "variance" in weight.name or weight.name == "gamma":
            values = np.abs(values) + 0.5
        weight.assign(values)
    return model


def _keras():
    import keras

    return keras, keras.layers

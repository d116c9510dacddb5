"""Small models and batches to step on; every model of a kind starts with the same weights."""

import types

import numpy as np
import pytest


@pytest.fixture(scope="session")
def batch():
    """Return 24 examples of four numbers in three classes."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(24, 4)).astype("float32"), rng.integers(0, 3, 24)


@pytest.fixture(scope="session")
def models(tf):
    """Return builders of small models."""
    import keras

    def dense(*layers, seed=1):
        keras.utils.set_random_seed(seed)
        first = keras.layers.Dense(8, "relu", kernel_regularizer="l2", name="first")
        last = keras.layers.Dense(3, dtype="float32", name="last")
        return keras.Sequential([keras.Input((4,)), first, *layers, last])

    def two_headed(seed=1):
        keras.utils.set_random_seed(seed)
        inputs = {"a": keras.Input((4,), name="a"), "b": keras.Input((2,), name="b")}
        joined = keras.layers.Concatenate()([inputs["a"], inputs["b"]])
        outputs = {
            "kind": keras.layers.Dense(3, "softmax", name="kind")(joined),
            "size": keras.layers.Dense(1, name="size")(joined),
        }
        return keras.Model(inputs, outputs)

    def masked(seed=1):
        keras.utils.set_random_seed(seed)
        return keras.Sequential(
            [
                keras.Input((5,), dtype="int32"),
                keras.layers.Embedding(6, 4, mask_zero=True),
                keras.layers.SimpleRNN(4, return_sequences=True),
                keras.layers.Dense(1),
            ]
        )

    class Subclassed(keras.Model):
        def __init__(self):
            super().__init__()
            self.first = keras.layers.Dense(8, "relu")
            self.norm = keras.layers.BatchNormalization()
            self.last = keras.layers.Dense(3)

        def call(self, x, training=False):
            return self.last(self.norm(self.first(x), training=training))

    def subclassed(seed=1):
        keras.utils.set_random_seed(seed)
        model = Subclassed()
        model(np.zeros((1, 4), "float32"))
        return model

    return types.SimpleNamespace(
        dense=dense,
        two_headed=two_headed,
        masked=masked,
        subclassed=subclassed,
        sparse=lambda **kwargs: keras.losses.SparseCategoricalCrossentropy(True, **kwargs),
    )


@pytest.fixture(scope="session")
def difference():
    """Return a function that tells how far apart the weights of two models are."""

    def largest(a, b):
        pairs = zip(a.get_weights(), b.get_weights(), strict=True)
        return max(float(np.abs(one - other).max()) for one, other in pairs)

    return largest

"""Small models of every kind that dtype policies are set on, each with a batch it can train on.

Imported by the fixture `models` alone, once TensorFlow is loaded.
"""

import keras  # noqa: TID253
import numpy as np
from keras import layers  # noqa: TID253


class Widening(layers.Layer):
    """A layer as beginners write it: no config, no keywords, a part inside."""

    def __init__(self, units):
        super().__init__()
        self.units = units
        self.inner = layers.Dense(units, activation="relu")

    def call(self, x):
        return self.inner(x)


class Dividing(layers.Layer):
    """Divides by a spread and an epsilon that is 0 in float16; its part is made in `build`."""

    def __init__(self, eps=1e-12, **options):
        super().__init__(**options)
        self.eps = eps

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones")
        self.part = layers.Dense(shape[-1])
        self.part.build(shape)

    def call(self, x):
        return self.part(x) * self.scale / (keras.ops.std(x) + self.eps)

    def get_config(self):
        return {**super().get_config(), "eps": self.eps}


class Stubborn(layers.Layer):
    """Cannot work with anything but float32."""

    def call(self, x):
        import tensorflow as tf

        return tf.matmul(x, tf.eye(x.shape[-1]))


class Penalty(layers.Layer):
    """Adds to the loss what it computes in its own type; its author does not write `self`."""

    def call(this, x):  # noqa: N805
        this.add_loss(1e-3 * keras.ops.sum(x * x))
        return x


class Shifted(layers.Layer):
    """Adds a constant in float32; its author does not write `self`."""

    def call(this, x):  # noqa: N805
        import tensorflow as tf

        return x + tf.constant(1.0)


class WideGradient(layers.Layer):
    """Works in any type on the way forward, and on the way back in float32 only."""

    def call(self, x):
        import tensorflow as tf

        @tf.custom_gradient
        def doubled(given):
            return given * 2, lambda gradient: tf.cast(gradient, tf.float32) * 2

        return doubled(x)


def add_one(x):
    """Return a float32 constant more, which no other type can be added to."""
    import tensorflow as tf

    return x + tf.constant(1.0)


class Unnamed(layers.Layer):
    """Cannot be made again: its argument is no plain value, and it has no config."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def call(self, x):
        return self.function(x)


class OwnModel(keras.Model):
    """A model whose `call` is all there is to know."""

    def __init__(self, name=None):
        super().__init__(name=name)
        self.hidden = layers.Dense(8, activation="relu")
        self.out = layers.Dense(1)

    def call(self, x):
        return self.out(self.hidden(x))


class CountingModel(keras.Model):
    """A functional model with a step of its own."""

    def train_step(self, data):
        logs = super().train_step(data)
        return {**logs, "own": 7.0}


def squared(y, predicted):
    """A loss that is a plain function."""
    return keras.ops.mean((y - predicted) ** 2, axis=-1)


def classifier():
    """Return a Sequential that normalises large numbers and ends in a softmax."""
    random = np.random.default_rng(0)
    x = (random.random((32, 8)) * 1e6).astype("float32")
    model = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Normalization(name="scaled"),
            layers.Dense(16, activation="relu", name="hidden"),
            layers.BatchNormalization(),
            layers.Dropout(0.1),
            layers.Dense(3, name="logits"),
            layers.Activation("softmax", name="classes"),
        ]
    )
    model.layers[0].adapt(x)
    return model, x, random.integers(0, 3, 32), "sparse_categorical_crossentropy"


def functional():
    """Return a model with operations, layers of the user's, and a loss that is a function."""
    random = np.random.default_rng(0)
    inputs = keras.Input((8,))
    x = layers.Dense(8, name="first")(inputs) + Widening(8)(inputs) * 2
    x = Dividing(name="dividing")(keras.ops.relu(x))
    x = layers.Lambda(lambda t: t * 2)(x)
    outputs = keras.ops.squeeze(layers.Dense(1, name="last")(x), -1)
    return keras.Model(inputs, outputs), random.random((32, 8)), random.random(32), squared


def nested():
    """Return a model with two inputs, a shared model inside, and a model as its head."""
    random = np.random.default_rng(0)
    shared = keras.Sequential([layers.Dense(4, activation="relu"), layers.Dense(4)], name="shared")
    inside = keras.Input((4,))
    head = keras.Model(inside, layers.Dense(2, activation="softmax", name="softmax")(inside))
    one, two = keras.Input((8,), name="one"), keras.Input((8,), name="two")
    joined = layers.Add()([shared(one), shared(two)])
    outputs = {"classes": head(joined), "value": layers.Dense(1, name="value")(shared(one))}
    x = {"one": random.random((32, 8)), "two": random.random((32, 8))}
    y = {"classes": random.random((32, 2)), "value": random.random((32, 1))}
    model = keras.Model({"one": one, "two": two}, outputs)
    return model, x, y, {"classes": "mse", "value": squared}


def words():
    """Return a recurrent model, with masks, of token ids that come as floats and are large."""
    random = np.random.default_rng(0)
    model = keras.Sequential(
        [
            layers.Embedding(5000, 8, mask_zero=True),
            layers.Bidirectional(layers.LSTM(4, return_sequences=True)),
            layers.TimeDistributed(layers.Dense(4)),
            layers.GlobalAveragePooling1D(),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    x = random.integers(4000, 5000, (32, 6)).astype("float32")
    model.build((None, 6))
    return model, x, random.integers(0, 2, (32, 1)).astype("float32"), "binary_crossentropy"


def attention():
    """Return a model with attention and slices, and logits."""
    random = np.random.default_rng(0)
    inputs = keras.Input((6,), dtype="int32")
    x = layers.Embedding(50, 16)(inputs)
    x = layers.Add()([x, layers.MultiHeadAttention(2, 8)(x, x)])
    x = layers.LayerNormalization(epsilon=1e-12)(x)
    x = layers.Conv1D(8, 3, padding="same")(x)
    model = keras.Model(inputs, layers.Dense(5)(x[:, 0]))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return model, random.integers(0, 50, (32, 6)), random.integers(0, 5, 32), loss


EVERY_KIND = (classifier, functional, nested, words, attention)


def policies(model):
    """Return the policy of every layer, by name."""
    return {layer.name: layer.dtype_policy.name for layer in model._flatten_layers()}


def weights(model):
    """Return all weights as arrays, by path."""
    return {weight.path: weight.numpy() for weight in model.weights}

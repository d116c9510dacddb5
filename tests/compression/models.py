"""Small models of every shape that the walker has to know, and data for them.

Each function builds a new model; its weights depend on nothing but the seed. Input sizes are tiny:
a prediction takes milliseconds.
"""

import numpy as np


def sequential():
    """Return a Sequential CNN with batch normalization, its input's name chosen by Keras."""
    keras, layers = _keras()
    model = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            layers.Conv2D(8, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.Conv2D(8, 3, padding="same", activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(4, activation="softmax"),
        ],
        name="plain",
    )
    return settled(model)


def flattened():
    """Return a Sequential CNN whose map is flattened into a Dense layer."""
    keras, layers = _keras()
    model = keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(8, activation="relu"),
            layers.Dense(3),
        ]
    )
    return settled(model)


def residual():
    """Return a functional CNN with an addition around two convolutions."""
    keras, layers = _keras()
    x = inputs = keras.Input((8, 8, 3), name="image")
    x = layers.Conv2D(8, 3, padding="same", name="stem")(x)
    x = layers.BatchNormalization(name="stem_norm")(x)
    x = shortcut = layers.ReLU(name="stem_act")(x)
    x = layers.Conv2D(8, 3, padding="same", use_bias=False, name="conv_a")(x)
    x = layers.BatchNormalization(name="norm_a")(x)
    x = layers.ReLU(name="act_a")(x)
    x = layers.Conv2D(8, 3, padding="same", use_bias=False, name="conv_b")(x)
    x = layers.BatchNormalization(name="norm_b")(x)
    x = layers.ReLU(name="act")(layers.Add(name="add")([x, shortcut]))
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    return settled(keras.Model(inputs, layers.Dense(4, name="head")(x), name="residual"))


def concatenated():
    """Return a functional CNN with two branches of different width, concatenated."""
    keras, layers = _keras()
    inputs = keras.Input((8, 8, 3))
    left = layers.Conv2D(4, 1, activation="relu")(inputs)
    right = layers.Conv2D(6, 3, padding="same", activation="relu")(inputs)
    x = layers.Concatenate()([left, right])
    x = layers.Conv2D(5, 3)(x)
    return settled(keras.Model(inputs, layers.GlobalMaxPooling2D()(x)))


def shared():
    """Return a model with one convolution called on two branches."""
    keras, layers = _keras()
    inputs = keras.Input((8, 8, 3))
    conv = layers.Conv2D(4, 3, padding="same", name="shared")
    left = conv(layers.Conv2D(4, 3, padding="same", name="left")(inputs))
    right = conv(layers.Conv2D(4, 1, name="right")(inputs))
    x = layers.Subtract()([left, right])
    return settled(keras.Model(inputs, layers.Dense(2)(layers.Flatten()(x))))


def nested_functional():
    """Return a model with a functional one inside, whose sizes are open and names collide."""
    keras, layers = _keras()
    inner_in = keras.Input((None, None, 3))
    x = layers.Conv2D(4, 3, padding="same", name="conv")(inner_in)
    x = layers.BatchNormalization(name="norm")(x)
    inner = keras.Model(inner_in, layers.ReLU(name="act")(x), name="backbone")
    inputs = keras.Input((8, 8, 3))
    x = inner(inputs, training=False)
    x = layers.Conv2D(5, 3, name="conv")(x)
    return settled(keras.Model(inputs, layers.GlobalAveragePooling2D()(x)))


def nested_sequential():
    """Return a model that ends in a Sequential one, which names its output."""
    keras, layers = _keras()
    head = keras.Sequential([keras.Input((6,)), layers.Dense(5), layers.Dense(2)], name="head")
    inputs = keras.Input((4,))
    return settled(keras.Model(inputs, head(layers.Dense(6, activation="relu")(inputs))))


def nested_twice():
    """Return a model that calls a nested one on each of two inputs."""
    keras, layers = _keras()
    twin = keras.Sequential(
        [keras.Input((6,)), layers.Dense(5, activation="relu"), layers.BatchNormalization()],
        name="twin",
    )
    left, right = keras.Input((6,), name="left"), keras.Input((6,), name="right")
    x = layers.Subtract()([twin(left), twin(right)])
    return settled(keras.Model([left, right], layers.Dense(1)(x)))


def named():
    """Return a model that takes a dict and gives a dict."""
    keras, layers = _keras()
    image, size = keras.Input((6, 6, 1), name="image"), keras.Input((2,), name="size")
    x = layers.Flatten()(layers.Conv2D(3, 3)(image))
    x = layers.Concatenate()([x, size])
    outputs = {"kind": layers.Dense(3, name="kinds")(x), "age": layers.Dense(1, name="ages")(x)}
    return settled(keras.Model({"image": image, "size": size}, outputs))


def mobile():
    """Return a model of depthwise, separable and transposed convolutions, each normalized."""
    keras, layers = _keras()
    x = inputs = keras.Input((8, 8, 4))
    x = layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2, name="depthwise")(x)
    x = layers.ReLU(6.0)(layers.BatchNormalization(name="depthwise_norm")(x))
    x = layers.SeparableConv2D(6, 3, use_bias=False, name="separable")(x)
    x = layers.ReLU()(layers.BatchNormalization(scale=False, name="separable_norm")(x))
    x = layers.Conv2DTranspose(5, 3, strides=2, name="transposed")(x)
    x = layers.ReLU()(layers.BatchNormalization(center=False, name="transposed_norm")(x))
    x = layers.Dense(4, name="dense")(layers.GlobalAveragePooling2D()(x))
    return settled(keras.Model(inputs, layers.BatchNormalization(name="last_norm")(x)))


def with_operations():
    """Return a model with calls of `keras.ops`, constants and slices among its layers."""
    keras, layers = _keras()
    inputs = keras.Input((6,))
    x = layers.Dense(8)(inputs)
    x = keras.ops.relu(x) * 2.0 + np.arange(8, dtype="float32")
    x = keras.ops.concatenate([x[:, :3], keras.ops.expand_dims(x[:, 5], -1)], axis=-1)
    x = keras.ops.add(x, keras.ops.mean(x, axis=-1, keepdims=True))
    x = keras.ops.where(x > 1.0, x, 0.5)
    return settled(keras.Model(inputs, layers.Dense(2)(x)))


def masked():
    """Return a recurrent model on words with a mask, which reaches its attention too."""
    keras, layers = _keras()
    words = keras.Input((5,), dtype="int32", name="words")
    x = layers.Embedding(20, 6, mask_zero=True)(words)
    x = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    x = layers.MultiHeadAttention(2, 3)(x, x)
    x = layers.GRU(4)(layers.TimeDistributed(layers.Dense(4))(x))
    return settled(keras.Model(words, layers.Dense(2)(x)))


def noisy():
    """Return a model with augmentation and dropout."""
    keras, layers = _keras()
    inputs = keras.Input((8, 8, 3))
    x = layers.RandomFlip("horizontal", seed=1)(inputs)
    x = layers.GaussianNoise(0.1, seed=2)(layers.Rescaling(1 / 2)(x))
    x = layers.Dropout(0.5, seed=3)(layers.Flatten()(layers.Conv2D(3, 3)(x)))
    return settled(keras.Model(inputs, layers.Dense(2)(x)))


def custom():
    """Return a model with a Lambda, functions as activations, and a class without get_config."""
    keras, layers = _keras()

    class Gate(layers.Layer):
        def __init__(self, units):
            super().__init__()
            self.dense = layers.Dense(units, activation="sigmoid")

        def call(self, x):
            return x * self.dense(x)

    def relu(x):  # not the one of Keras
        return keras.ops.minimum(keras.ops.relu(x), FACTOR)

    inputs = keras.Input((6,))
    x = layers.Lambda(lambda x: x * FACTOR, output_shape=(6,))(inputs)
    x = Gate(6)(layers.Dense(6, activation=relu)(x))
    return settled(keras.Model(inputs, layers.Dense(2, activation=lambda x: x**2)(x)))


FACTOR = 1.5

ALL = [
    sequential,
    flattened,
    residual,
    concatenated,
    shared,
    nested_functional,
    nested_sequential,
    nested_twice,
    named,
    mobile,
    with_operations,
    masked,
    noisy,
    custom,
]


def subclassed():
    """Return a built model whose layers are called by Python code."""
    keras, layers = _keras()

    class Network(keras.Model):
        def __init__(self):
            super().__init__(name="network")
            self.first, self.second = layers.Dense(4), layers.Dense(2)

        def call(self, x):
            return self.second(self.first(x))

    model = Network()
    model(np.zeros((1, 3), "float32"))
    return model


def settled(model, seed=0):
    """Return the model with all weights drawn anew, statistics of normalizations included."""
    draw = np.random.default_rng(seed)
    for weight in model.weights:
        values = draw.normal(size=weight.shape) * 0.5
        if "variance" in weight.name or weight.name == "gamma":
            values = np.abs(values) + 0.3
        weight.assign(values)
    return model


def data_for(model, count=12, seed=0):
    """Return random samples in the structure that a model takes."""
    keras, _ = _keras()
    draw = np.random.default_rng(seed)

    def array(tensor):
        shape = (count, *tensor.shape[1:])
        if "int" in tensor.dtype:
            return draw.integers(0, 20, shape)
        return draw.normal(size=shape).astype("float32")

    structure = model.inputs[0] if isinstance(model, keras.Sequential) else model.input
    return keras.tree.map_structure(array, structure)


def results(model, data, **settings):
    """Return all outputs of a model for all samples, as a flat list of arrays."""
    keras, _ = _keras()
    return [np.asarray(value) for value in keras.tree.flatten(model(data, **settings))]


def _keras():
    import keras

    return keras, keras.layers

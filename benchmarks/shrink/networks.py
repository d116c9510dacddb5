"""The networks that are made smaller: residual ones, and how they are trained."""

import keras
from keras import layers


def network(shape, width, classes=10):
    """Return a small residual network."""
    x = inputs = keras.Input(shape, name="image")
    for filters in (width, 2 * width):
        x = shortcut = block(x, filters)
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.Add()([layers.BatchNormalization(momentum=0.9)(x), shortcut])
        x = layers.MaxPooling2D()(layers.ReLU()(x))
    x = layers.GlobalAveragePooling2D()(block(x, 4 * width))
    return keras.Model(inputs, layers.Dense(classes, activation="softmax")(x))


def block(x, filters):
    """Return a normalized convolution of `x`."""
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    return layers.ReLU()(layers.BatchNormalization(momentum=0.9)(x))


def trained(data, *, width, epochs, seed):
    """Return a network that has learned from images and labels."""
    keras.utils.set_random_seed(seed)
    x, y = data
    model = network(x.shape[1:], width)
    steps = epochs * -(-len(x) // 64)
    rate = keras.optimizers.schedules.CosineDecay(3e-3, steps)
    model.compile(keras.optimizers.Adam(rate), "sparse_categorical_crossentropy")
    model.fit(x, y, batch_size=64, epochs=epochs, verbose=0)
    return model

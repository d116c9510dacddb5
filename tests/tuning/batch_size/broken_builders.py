"""A function that builds a model whose training goes wrong in another way with each batch size."""

HANGS, IS_KILLED, TAKES_TOO_MUCH = 16, 32, 64


def build(batch_size=8):
    """Return a small model and data; with some batch sizes something happens."""
    import os
    import signal

    import keras
    import numpy as np

    if batch_size == HANGS:
        os.kill(os.getpid(), signal.SIGSTOP)
    if batch_size == IS_KILLED:
        os.kill(os.getpid(), signal.SIGKILL)
    width = 4096 if batch_size == TAKES_TOO_MUCH else 4
    inputs = keras.Input((4,))
    wide = keras.layers.Dense(width)(inputs)
    # One number for each pair of columns: 4 GB with the wide layer and 64 samples.
    pairs = keras.layers.Reshape((width, 1))(wide) * keras.layers.Reshape((1, width))(wide)
    sums = keras.layers.GlobalAveragePooling1D()(pairs)
    model = keras.Model(inputs, keras.layers.Dense(1)(sums))
    model.compile("sgd", "mse")
    return model, (np.ones((640, 4), "float32"), np.ones((640, 1), "float32"))


def broken():
    """Raise an error of the user's."""
    raise ValueError("there are no images in data/train")

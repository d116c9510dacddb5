"""Small compiled models and data for them."""

import numpy as np

ROWS = 70


def arrays(rows=ROWS):
    """Return samples of two classes."""
    x = np.random.default_rng(0).normal(size=(rows, 4)).astype("float32")
    return x, (x.sum(axis=1) > 0).astype("int32")


def dataset(rows=ROWS, batch=8, **options):
    """Return the same as a data set of batches."""
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices(arrays(rows)).batch(batch, **options)


def model(*, loss="sparse_categorical_crossentropy", **options):
    """Return a small compiled classifier."""
    import keras

    made = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8, activation="relu"),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    made.compile("adam", loss, **options)
    return made

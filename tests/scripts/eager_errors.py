"""Fits eagerly, and collects the tracebacks of operations that fail in each of its steps."""

import time
import traceback

import keras
import numpy as np
import tensorflow as tf

x = np.ones((400, 4), "float32")
seen = set()


def note(operation):
    """Keep the traceback of an operation that fails."""
    try:
        operation()
    except (TypeError, ValueError, tf.errors.OpError):
        seen.add(traceback.format_exc())


class Fails(keras.callbacks.Callback):
    """Does what TensorFlow refuses, after every batch."""

    def on_train_batch_end(self, batch, logs=None):
        note(lambda: tf.matmul(tf.ones((2, 3)), tf.ones((2, 3))))
        note(lambda: tf.add(tf.ones(2), "text"))
        note(lambda: tf.reshape([1, 2, 3], [2, 2]))
        note(lambda: tf.raw_ops.Cast(x=1.0, DstT="no type"))
        note(lambda: tf.linalg.cholesky(-tf.eye(2)))
        time.sleep(0.01)


model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse", run_eagerly=True)
model.fit(x, x[:, :1], batch_size=4, verbose=0, callbacks=[Fails()])
print(len(seen), *sorted(seen), sep="\n")

"""Raises in every place where the user's code runs below `fit`; shows each traceback."""

import sys
import traceback

import keras
import numpy as np
import tensorflow as tf

# Whether TensorFlow warns of retracing depends on addresses in memory.
tf.get_logger().setLevel("ERROR")
x = np.ones((32, 4), "float32")
y = np.ones((32, 1), "float32")


class OwnStep(keras.Model):
    """A model whose train step fails."""

    def train_step(self, data):
        raise ValueError("in the train step")


class Callback(keras.callbacks.Callback):
    """Fails in one of its hooks."""

    def __init__(self, hook):
        super().__init__()
        setattr(self, hook, self.fail)

    def fail(self, *args, **kwargs):
        raise ValueError("in a callback")


class Batches(keras.utils.PyDataset):
    """Fails at the fifth batch."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == 5:
            raise ValueError("in a PyDataset")
        return x[:4], y[:4]


def batches():
    """Fail at the fifth batch."""
    for _ in range(5):
        yield x[:4], y[:4]
    raise ValueError("in a generator")


def fails_in_loss(true, predicted):
    """Fail."""
    raise ValueError("in a loss")


def fails_in_map(a, b):
    """Fail."""
    raise ValueError("in a map function")


def fails_in_python(a):
    """Fail while it runs, not while it is traced."""
    raise ValueError("in a py_function")


def small(**how):
    """Return a compiled model of one layer."""
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", **{"loss": "mse", **how})
    return model


def own_step():
    """Fit a model with a train step of its own."""
    inputs = keras.Input((4,))
    model = OwnStep(inputs, keras.layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    model.fit(x, y, verbose=0)


def py_function():
    """Fit on a map that runs Python."""
    data = tf.data.Dataset.from_tensor_slices(x).map(
        lambda a: (tf.py_function(fails_in_python, [a], tf.float32), a)
    )
    small().fit(data.batch(4), verbose=0)


def conflicting_options():
    """Zip two datasets whose options contradict each other."""
    first, second = tf.data.Options(), tf.data.Options()
    first.deterministic, second.deterministic = True, False
    data = tf.data.Dataset.range(3)
    tf.data.Dataset.zip((data.with_options(first), data.with_options(second)))


HOOKS = ("on_train_begin", "on_epoch_begin", "on_train_batch_begin", "on_train_batch_end")
CASES = [
    own_step,
    py_function,
    conflicting_options,
    lambda: small(run_eagerly=True, loss=fails_in_loss).fit(x, y, verbose=0),
    lambda: small(loss=fails_in_loss).fit(x, y, verbose=0),
    lambda: small().fit(batches(), verbose=0),
    lambda: small().fit(Batches(), verbose=0),
    lambda: small().fit(Batches(workers=2), verbose=0),
    lambda: tf.data.Dataset.from_tensor_slices((x, y)).map(fails_in_map),
    lambda: small().fit(x, y, verbose=0, callbacks=[fails_in_loss]),
    lambda: small().fit(x, y[:3], verbose=0),
    lambda: small().fit(x, y, no_such_argument=1),
    lambda: small().compile("no such optimizer"),
    *(lambda hook=hook: small().fit(x, y, verbose=0, callbacks=[Callback(hook)]) for hook in HOOKS),
]

for is_filtered in (True, False):
    if not is_filtered:
        keras.config.disable_traceback_filtering()
    for number, case in enumerate(CASES):
        print(f"--- case {number}", file=sys.stderr)
        try:
            case()
        except (AttributeError, TypeError, ValueError, tf.errors.OpError):
            traceback.print_exc()
small().fit(x, y, verbose=0, callbacks=[Callback("on_epoch_end")])

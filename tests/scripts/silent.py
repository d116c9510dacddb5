"""Stands still in three ways, each for some seconds: tf.data, tracing, and a generator.

On a busy machine each goes on until it was recorded twice, so that no verdict hangs on the clock.
"""

import contextlib
import os
import sqlite3
import threading
import time

import keras
import numpy as np
import tensorflow as tf

SECONDS = 6.0
SWALLOWED = "raises WHERE name = 'FileNotFoundError' AND count > 10"
# Keras asks for batches ahead: without it, the generator could stand still while `fit` traces.
trained = threading.Event()


def is_recorded(rows, times):
    """Tell whether quickfit has so many rows of this process on disk."""
    file = os.path.join(os.environ["QUICKFIT_RUN"], f"{os.getpid()}.sqlite")
    try:
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
            return db.execute(f"SELECT count(*) FROM {rows}").fetchone()[0] >= times
    except sqlite3.Error:
        return False


def until(end_s):
    while time.monotonic() < end_s or not is_recorded("tracing WHERE name = 'unrolled'", 2):
        yield 1.0


def numbers():
    for number in range(10**9):
        time.sleep(0.0005)
        yield number


def fill():
    data = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int64))
    data = data.shuffle(int(SECONDS / 0.0008)).batch(2)
    total = 0
    for batch in data.take(4):
        total += len(batch)
        time.sleep(0.8)  # long enough for the loop to be read, too
    return total


@tf.function
def unrolled(x, end_s):
    for value in until(end_s):
        x = x + value  # traced
    return x


def batches():
    for number in range(10**9):
        if number == 3:
            trained.wait()
            end_s = time.monotonic() + 1.5 * SECONDS
        while number >= 3 and (time.monotonic() < end_s or not is_recorded(SWALLOWED, 1)):
            try:
                time.sleep(0.001)
                open("/no such folder/a.png")  # noqa: SIM115 - it is not there
            except OSError:  # caught
                continue
        yield np.ones((2, 4)), np.ones((2, 1))


print(fill(), flush=True)
unrolled(tf.constant(0.0), time.monotonic() + SECONDS)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile(loss="mse")
told = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: trained.set())
model.fit(batches(), steps_per_epoch=6, verbose=0, callbacks=[told])
print("over")

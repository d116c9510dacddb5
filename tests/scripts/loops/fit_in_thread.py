"""Fits in a thread while the main thread waits, as a server would.
Expect: kind=fit, steps=2*n, input=arrays
"""

import sys
import threading

import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
state = {"status": "idle"}


def train_job():
    x = np.random.default_rng(0).random((n * 16, 16, 16, 1), "float32")
    y = np.arange(len(x)) % 2
    model = tf.keras.Sequential()
    model.add(tf.keras.layers.Conv2D(8, 3, activation="relu"))
    model.add(tf.keras.layers.GlobalAveragePooling2D())
    model.add(tf.keras.layers.Dense(1, activation="sigmoid"))
    model.compile("adam", "binary_crossentropy")
    model.fit(x, y, batch_size=16, epochs=2, verbose=0)  # the loop
    state["status"] = "done"


worker = threading.Thread(target=train_job, name="trainer")
worker.start()
while worker.is_alive():
    worker.join(0.2)
print(state["status"])

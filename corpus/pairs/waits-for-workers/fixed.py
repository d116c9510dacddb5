"""The same strategy with the one worker that there is."""

import json
import os
import socket


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


workers = [free_address()]
task = {"type": "worker", "index": 0}
os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": task})

import keras
import numpy as np
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
rng = np.random.default_rng(0)
x = rng.standard_normal((512, 32)).astype("float32")
with strategy.scope():
    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(32), keras.layers.Dense(1)])
    model.compile("adam", loss="mse")
model.fit(x, x.sum(axis=1), epochs=2, verbose=2)

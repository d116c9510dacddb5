# EXPECT moving
# NOTE TF_CONFIG names a single worker, which is this process: nothing to wait for, it trains.
import json
import os
import socket


def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


os.environ["TF_CONFIG"] = json.dumps({
    "cluster": {"worker": ["localhost:%d" % free_port()]},
    "task": {"type": "worker", "index": 0},
})

import numpy as np
import tensorflow as tf

PER_WORKER_BATCH = 32


def mnist_like(n):
    x = np.random.rand(n, 784).astype("float32")
    y = np.random.randint(0, 10, n)
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(n).repeat()


strategy = tf.distribute.MultiWorkerMirroredStrategy()
print("replicas:", strategy.num_replicas_in_sync)
global_batch = PER_WORKER_BATCH * strategy.num_replicas_in_sync
dataset = mnist_like(512).batch(global_batch)

with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(64, activation="relu", input_shape=(784,)),
        tf.keras.layers.Dense(10),
    ])
    model.compile(
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=tf.keras.optimizers.SGD(learning_rate=0.001),
    )
model.fit(dataset, epochs=10, steps_per_epoch=70)

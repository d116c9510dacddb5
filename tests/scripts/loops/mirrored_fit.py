"""Fits under `MirroredStrategy` on two logical CPU devices.
Expect: kind=fit, steps=2*n, input=tf.data
"""

import sys

import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
print("replicas:", strategy.num_replicas_in_sync)

x = np.random.default_rng(0).normal(size=(n * 32, 32)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(512).batch(32, drop_remainder=True)

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(128, "relu"), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(ds, epochs=2, verbose=0)  # the loop

"""MirroredStrategy over two logical CPU devices."""
import time

import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

rng = np.random.default_rng(14)
x = rng.normal(size=(8192, 300)).astype("float32")
y = (x[:, :1] * 2 - x[:, 1:2]).astype("float32")
GLOBAL_BATCH = 256 * strategy.num_replicas_in_sync
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(8192).batch(GLOBAL_BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
opts = tf.data.Options()
opts.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
ds = ds.with_options(opts)

with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input((300,)),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(1),
    ])
    model.compile(tf.keras.optimizers.Adam(1e-3), "mse")
t0 = time.perf_counter()
model.fit(ds, epochs=6, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

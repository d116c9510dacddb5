"""A loop of its own under `MirroredStrategy`, over a distributed dataset.
Expect: kind=custom, steps=2*n, input=tf.data, wait=measured
"""

import sys

import numpy as np
import tensorflow as tf

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
BATCH = 32


def two_cpus():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


strategy = two_cpus()
x = np.random.default_rng(0).normal(size=(n * BATCH, 32)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(BATCH, drop_remainder=True)
batches = strategy.experimental_distribute_dataset(ds)

with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.Input((32,)), tf.keras.layers.Dense(128, "relu"), tf.keras.layers.Dense(1)]
    )
    optimizer = tf.keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)


def replica_step(features, targets):
    with tf.GradientTape() as tape:
        errors = (model(features, training=True) - targets) ** 2
        loss = tf.nn.compute_average_loss(errors[:, 0], global_batch_size=BATCH)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


@tf.function
def distributed_step(features, targets):
    losses = strategy.run(replica_step, args=(features, targets))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


for epoch in range(2):
    for features, targets in batches:  # the loop
        loss = distributed_step(features, targets)
    print(epoch, float(loss))

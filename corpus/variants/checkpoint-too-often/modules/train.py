# EXPECT cause=checkpoint-too-often file=keeper.py line=17
# WHY CheckpointManager.save after every step
import time

import numpy as np
import tensorflow as tf

from keeper import Keeper

r = np.random.default_rng(27)
x = r.normal(size=(6400, 200)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, x[:, :5])).batch(64).prefetch(2)
net = tf.keras.Sequential([tf.keras.Input((200,)), tf.keras.layers.Dense(1500, activation="relu"), tf.keras.layers.Dense(400, activation="relu"), tf.keras.layers.Dense(5)])
opt = tf.keras.optimizers.SGD(0.01, momentum=0.9)
opt.build(net.trainable_variables)
keeper = Keeper(net, opt)


@tf.function
def step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(a, training=True) - b))
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


t0 = time.perf_counter()
for epoch in range(3):
    for a, b in ds:
        loss = step(a, b)
        keeper.tick()
    print(epoch, float(loss))
print(f"training took {time.perf_counter() - t0:.1f} s")

# EXPECT cause=cache-partial-discarded file=store.py line=24
# WHY the loop breaks before the end, so the cache never completes
import time

import tensorflow as tf

from store import decoded

ROUNDS, PER_ROUND = 32, 15
data = decoded().batch(24).prefetch(2)
net = tf.keras.Sequential([
    tf.keras.Input((64, 64, 3)),
    tf.keras.layers.Conv2D(8, 5, strides=4, activation="relu"),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(1),
])
opt = tf.keras.optimizers.Adam()
opt.build(net.trainable_variables)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(x, training=True) - y))
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


t0 = time.perf_counter()
for rnd in range(ROUNDS):
    for i, (x, y) in enumerate(data):
        if i == PER_ROUND:
            break
        loss = step(x, y)
    print("round", rnd, float(loss))
print(f"training took {time.perf_counter() - t0:.1f} s")

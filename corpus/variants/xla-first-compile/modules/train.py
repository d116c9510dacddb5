# EXPECT cause=xla-first-compile file=speed.py line=5
# WHY XLA compiles a long convolution chain for a run of 90 short steps
import time

import tensorflow as tf

from blocks import network, points
from speed import compiled

net = network(14)
opt = tf.keras.optimizers.SGD(0.01)


def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(x, training=True) - y))
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


run = compiled(step)
t0 = time.perf_counter()
for epoch in range(3):
    for x, y in points(30):
        loss = run(x, y)
    print(epoch, float(loss))
print(f"training took {time.perf_counter() - t0:.1f} s")

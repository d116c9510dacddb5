# EXPECT cause=labels-broadcast-in-loss file=criteria.py line=5
# WHY labels (b,) against a prediction per time step (b,300,1)
import time

import tensorflow as tf

from criteria import huber
from field import batches, predictor

net = predictor()
opt = tf.keras.optimizers.Adam()
opt.build(net.trainable_variables)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = huber(y, net(x, training=True))
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


t0 = time.perf_counter()
for epoch in range(4):
    for x, y in batches(20, 160):
        loss = step(x, y)
    print(epoch, float(loss))
print(f"training took {time.perf_counter() - t0:.1f} s")

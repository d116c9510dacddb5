# EXPECT stuck=slow-step line=47 also=21,23
# NOTE every training step runs 560 iterations of 2000x2000 matrix products in a tf.while_loop before the small loss: 40 s or more of pure compute per step. (Also fair: lines 21, 23.)
import numpy as np
import tensorflow as tf

DIM = 2000
ITERS = 560
STEPS = 20

gram = tf.random.normal([DIM, DIM], stddev=1.0 / DIM ** 0.5, seed=2)
readout = tf.Variable(tf.zeros([DIM, 1]))
optimizer = tf.keras.optimizers.Adam(1e-3)


def relax(state):
    """Lets the reservoir settle before it is read out (no gradient through it)."""
    def cond(i, s):
        return i < ITERS

    def body(i, s):
        return i + 1, tf.tanh(tf.matmul(s, gram))

    _, state = tf.while_loop(cond, body, [tf.constant(0), state])
    return tf.stop_gradient(state)


@tf.function
def train_step(x, y):
    features = relax(x)
    with tf.GradientTape() as tape:
        pred = tf.matmul(features, readout)
        loss = tf.reduce_mean(tf.square(pred - y))
    grad = tape.gradient(loss, [readout])
    optimizer.apply_gradients(zip(grad, [readout]))
    return loss


def data():
    rng = np.random.default_rng(0)
    while True:
        x = rng.normal(size=(DIM, DIM)).astype(np.float32)
        yield x, x[:, :1]


print("start")
for n, (x, y) in zip(range(STEPS), data()):
    loss = train_step(tf.constant(x), tf.constant(y))
    print("step", n, "loss", float(loss))

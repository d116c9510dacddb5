# EXPECT moving
# NOTE the same slow log reader, but 1000 rows of buffer are there after some 6 s, and then steps go on.
import random
import time

import tensorflow as tf


class ClickLog:
    """Reads click events one by one from the (slow) message bus."""

    fields = 12

    def __init__(self, total):
        self.total = total

    def __iter__(self):
        rnd = random.Random(9)
        for _ in range(self.total):
            time.sleep(0.005)
            row = [rnd.gauss(0, 1) for _ in range(self.fields)]
            yield row, float(sum(row[:3]) > 0)


def make_dataset(log, batch_size):
    return (
        tf.data.Dataset.from_generator(
            lambda: iter(log),
            output_signature=(
                tf.TensorSpec([log.fields], tf.float32),
                tf.TensorSpec([], tf.float32),
            ),
        )
        .shuffle(1_000, reshuffle_each_iteration=True)
        .batch(batch_size, drop_remainder=True)
    )


class Net(tf.Module):
    def __init__(self, n_in):
        super().__init__()
        init = tf.random.Generator.from_seed(1)
        self.w1 = tf.Variable(init.normal([n_in, 16], stddev=0.3))
        self.b1 = tf.Variable(tf.zeros([16]))
        self.w2 = tf.Variable(init.normal([16, 1], stddev=0.3))

    def __call__(self, x):
        return tf.squeeze(tf.tanh(x @ self.w1 + self.b1) @ self.w2, -1)


net = Net(ClickLog.fields)
opt = tf.keras.optimizers.SGD(0.1)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=net(x)))
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    return loss


ds = make_dataset(ClickLog(4_000), 64)
print("training ...")
for n, (x, y) in enumerate(ds):
    loss = step(x, y)
    if n % 20 == 0:
        print(n, float(loss))

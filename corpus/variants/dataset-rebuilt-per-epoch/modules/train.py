# EXPECT cause=dataset-rebuilt-per-epoch file=train.py line=24
# WHY each epoch asks for a new dataset, so the cache inside it never helps
import time

import tensorflow as tf

from source import make_training_data

net = tf.keras.Sequential([tf.keras.Input((48, 48, 1)), tf.keras.layers.Conv2D(8, 5, strides=3, activation="relu"),
                           tf.keras.layers.Flatten(), tf.keras.layers.Dense(5)])
opt = tf.keras.optimizers.SGD(0.05)
ce = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = ce(y, net(x, training=True))
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


def one_epoch(number):
    batches = make_training_data(32)
    for x, y in batches:
        loss = step(x, y)
    print("epoch", number, "loss", float(loss))


t0 = time.perf_counter()
for n in range(28):
    one_epoch(n)
print(f"training took {time.perf_counter() - t0:.1f} s")

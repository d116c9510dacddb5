"""Every step adds its keys to a bank of negatives, and compares with all of it."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
BATCH, DIM = 128, 96
rows = np.random.default_rng(0).random((4096, 64), "float32")
ds = tf.data.Dataset.from_tensor_slices(rows).shuffle(4096).batch(BATCH).repeat().prefetch(2)

encoder = keras.Sequential(
    [
        keras.Input((64,)),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dense(DIM),
        keras.layers.UnitNormalization(),
    ]
)
optimizer = keras.optimizers.SGD(0.05)
first = tf.math.l2_normalize(tf.random.normal((BATCH, DIM)), axis=1)
bank = tf.Variable(first, shape=(None, DIM), trainable=False)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        query = encoder(x + tf.random.normal(tf.shape(x), stddev=0.1))
        key = tf.stop_gradient(encoder(x))
        same = tf.reduce_sum(query * key, axis=1, keepdims=True)
        others = tf.matmul(query, bank, transpose_b=True)
        logits = tf.concat([same, others], axis=1) / 0.1
        loss = -tf.reduce_mean(tf.nn.log_softmax(logits)[:, 0])
    gradients = tape.gradient(loss, encoder.trainable_variables)
    optimizer.apply_gradients(zip(gradients, encoder.trainable_variables, strict=True))
    bank.assign(tf.concat([bank, key], axis=0))
    return loss


for step, batch in enumerate(ds.take(500)):
    loss = train_step(batch)
    if step % 100 == 0:
        print(f"step {step}: {float(loss):.3f}")

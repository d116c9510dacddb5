"""Every step writes its keys over the oldest of a bank of negatives of a fixed size."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
BATCH, DIM, BANK = 128, 96, 4096
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
bank = tf.Variable(tf.math.l2_normalize(tf.random.normal((BANK, DIM)), axis=1), trainable=False)
at = tf.Variable(0, dtype=tf.int64, trainable=False)


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
    places = (at + tf.range(BATCH, dtype=tf.int64)) % BANK
    bank.scatter_nd_update(places[:, None], key)
    at.assign_add(BATCH)
    return loss


for step, batch in enumerate(ds.take(500)):
    loss = train_step(batch)
    if step % 100 == 0:
        print(f"step {step}: {float(loss):.3f}")

"""Contrastive learning with a memory bank of earlier embeddings."""
import numpy as np
import tensorflow as tf

DIM = 64
net = tf.keras.Sequential([
    tf.keras.layers.Input((128,)),
    tf.keras.layers.Dense(256, activation="relu"),
    tf.keras.layers.Dense(DIM),
])
opt = tf.keras.optimizers.SGD(0.05, momentum=0.9)
bank = tf.Variable(tf.zeros((1, DIM)), shape=(None, DIM), trainable=False)

data = np.random.RandomState(0).randn(20000, 128).astype("float32")
ds = tf.data.Dataset.from_tensor_slices(data).shuffle(20000, seed=0).batch(96, drop_remainder=True).repeat()


@tf.function
def train_step(x):
    noisy = x + tf.random.normal(tf.shape(x), stddev=0.1)
    with tf.GradientTape() as tape:
        a = tf.math.l2_normalize(net(x, training=True), 1)
        b = tf.math.l2_normalize(net(noisy, training=True), 1)
        pos = tf.reduce_sum(a * b, 1, keepdims=True)
        neg = tf.matmul(a, bank, transpose_b=True)
        logits = tf.concat([pos, neg], 1) / 0.1
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.zeros(tf.shape(x)[0], tf.int32), logits))
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    bank.assign(tf.concat([bank, tf.stop_gradient(b)], 0))
    return loss


for i, x in enumerate(ds.take(420)):
    loss = train_step(x)
    if i % 60 == 0:
        tf.print("step", i, "loss", loss)

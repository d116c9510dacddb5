"""Contrastive learning on 1-D signals with a kNN monitor (PhD playground)."""
import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)

N, LEN, CLASSES = 3200, 64, 8
BATCH = 64
t = np.linspace(0, 1, LEN)
LABELS = rng.integers(0, CLASSES, N)
SIGNALS = (np.sin(2 * np.pi * (1 + LABELS[:, None]) * t + rng.random((N, 1)) * 6)
           + 0.3 * rng.standard_normal((N, LEN))).astype("float32")

encoder = keras.Sequential([
    layers.Input((LEN, 1)),
    layers.Conv1D(32, 5, strides=2, activation="relu"),
    layers.Conv1D(64, 5, strides=2, activation="relu"),
    layers.GlobalAveragePooling1D(),
    layers.Dense(128),
])
opt = keras.optimizers.Adam(1e-3)
opt.build(encoder.trainable_variables)


def augment(x):
    x = tf.roll(x, tf.random.uniform((), 0, LEN, tf.int32), axis=1)
    return x * tf.random.uniform((tf.shape(x)[0], 1, 1), 0.8, 1.2) + tf.random.normal(tf.shape(x), stddev=0.1)


@tf.function
def step(x):
    x = x[..., None]
    with tf.GradientTape() as tape:
        za = tf.math.l2_normalize(encoder(augment(x), training=True), axis=1)
        zb = tf.math.l2_normalize(encoder(augment(x), training=True), axis=1)
        logits = tf.matmul(za, zb, transpose_b=True) / 0.1
        labels = tf.range(tf.shape(x)[0])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    opt.apply_gradients(zip(tape.gradient(loss, encoder.trainable_variables), encoder.trainable_variables))
    return loss, za


class KnnMonitor:
    def __init__(self):
        self.features, self.targets = [], []
        self.trace = []

    def update(self, z, y):
        if self.features:
            bank = np.concatenate(self.features)
            labels = np.concatenate(self.targets)
            sim = z @ bank.T
            nearest = np.argsort(-sim, axis=1)[:, :5]
            votes = labels[nearest]
            pred = [np.bincount(v).argmax() for v in votes]
            self.trace.append(np.mean(pred == y))
        self.features.append(z)
        self.targets.append(y)


ds = (tf.data.Dataset.from_tensor_slices((SIGNALS, LABELS))
      .shuffle(N, seed=0).batch(BATCH, drop_remainder=True).prefetch(2))
monitor = KnnMonitor()
for epoch in range(4):
    losses = []
    for x, y in ds:
        loss, z = step(x)
        losses.append(loss)
        monitor.update(z.numpy(), y.numpy())
    print(f"epoch {epoch} loss {np.mean(losses):.3f} knn {np.mean(monitor.trace[-40:]):.3f}")

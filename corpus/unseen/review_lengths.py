# sentiment of short reviews; sentences of one length go together so there is no padding
import numpy as np
import tensorflow as tf
from tensorflow import keras

np.random.seed(1)
VOCAB = 3000
lengths = np.random.randint(8, 28, 2000)
texts = [np.random.zipf(1.4, n).clip(1, VOCAB - 1) for n in lengths]
labels = np.array([int((t < 5).mean() > 0.55) for t in texts])

buckets = {}
for t, y in zip(texts, labels):
    buckets.setdefault(len(t), []).append((t, y))

m = keras.Sequential([
    keras.layers.Embedding(VOCAB, 24),
    keras.layers.Bidirectional(keras.layers.LSTM(24)),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
opt = tf.keras.optimizers.RMSprop()
bce = tf.keras.losses.BinaryCrossentropy()


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        loss = bce(yb, m(xb, training=True))
    g = tape.gradient(loss, m.trainable_variables)
    opt.apply_gradients(zip(g, m.trainable_variables))
    return loss


keys = list(buckets)
np.random.shuffle(keys)
for epoch in range(2):
    for k in keys:
        part = buckets[k][:64]
        xb = tf.constant(np.array([p[0] for p in part]))
        yb = tf.constant(np.array([p[1] for p in part], dtype="float32")[:, None])
        loss = train_step(xb, yb)
    print(epoch, "last", float(loss))

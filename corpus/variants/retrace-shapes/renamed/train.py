# EXPECT cause=retrace-shapes file=train.py line=38
# WHY each batch is padded to its own longest text, so nearly every step traces a new graph
import time

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(12)
docs = [rng.integers(1, 800, size=rng.integers(10, 300)) for _ in range(640)]
flags = rng.integers(0, 2, 640).astype("float32")
model = tf.keras.Sequential([
    tf.keras.Input((None,), dtype="int32"),
    tf.keras.layers.Embedding(800, 24),
    tf.keras.layers.Conv1D(24, 3, padding="same", activation="relu"),
    tf.keras.layers.GlobalMaxPooling1D(),
    tf.keras.layers.Dense(1),
])
opt = tf.keras.optimizers.Adam()
opt.build(model.trainable_variables)
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = bce(y, model(x, training=True))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


t0 = time.perf_counter()
for i in range(0, 640, 8):
    part = docs[i:i + 8]
    longest = max(len(d) for d in part)
    x = np.zeros((8, longest), "int32")
    for k, d in enumerate(part):
        x[k, :len(d)] = d
    loss = step(tf.constant(x), tf.constant(flags[i:i + 8, None]))
print("loss", float(loss))
print(f"training took {time.perf_counter() - t0:.1f} s")

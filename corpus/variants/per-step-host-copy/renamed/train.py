# EXPECT cause=per-step-host-copy file=train.py line=35
# WHY every step gathers, divides (float64) and copies a 14 MB array on the host before the step can start
import time

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(6)
frames = rng.integers(0, 255, size=(3000, 96, 96, 3), dtype=np.uint8)
labels = rng.integers(0, 4, 3000)
model = tf.keras.Sequential([
    tf.keras.Input((96, 96, 3)),
    tf.keras.layers.AveragePooling2D(8),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(4),
])
opt = tf.keras.optimizers.SGD(0.01)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


BATCH = 128
t0 = time.perf_counter()
for epoch in range(24):
    order = rng.permutation(len(frames))
    for i in range(0, len(frames) - BATCH + 1, BATCH):
        idx = order[i:i + BATCH]
        batch = tf.constant((frames[idx] / 255.0).astype("float32"))
        loss = train_step(batch, tf.constant(labels[idx]))
    print(epoch, float(loss))
print(f"training took {time.perf_counter() - t0:.1f} s")

"""Measures the gradient noise scale during training (McCandlish et al. style)."""
import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(1)
DIM, HID, STEPS, BATCH = 784, 1000, 150, 512

model = keras.Sequential([
    keras.layers.Input((DIM,)),
    keras.layers.Dense(HID, activation="relu"),
    keras.layers.Dense(HID, activation="relu"),
    keras.layers.Dense(10),
])
opt = keras.optimizers.SGD(0.05)
opt.build(model.trainable_variables)
ce = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = ce(y, model(x, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return loss, grads


rng = np.random.default_rng(0)
pool = rng.random((4096, DIM), dtype=np.float32)
target = (pool[:, :10]).argmax(axis=1)

norms, history = [], []
for i in range(STEPS):
    idx = rng.integers(0, len(pool), BATCH)
    loss, grads = step(tf.constant(pool[idx]), tf.constant(target[idx]))
    norms.append(float(tf.linalg.global_norm(grads)))
    history.append(grads)
    if i % 20 == 0:
        print(f"{i:4d} loss {float(loss):.3f} |g| {norms[-1]:.3f}")

bias_grads = np.stack([g[-1].numpy() for g in history])
print("noise scale of the output bias:", float(bias_grads.var(0).sum() / (bias_grads.mean(0) ** 2).sum()))

"""Seeded training with `train_on_batch`, and a look with `predict` and `evaluate` now and then."""

import random

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(13)
x = np.random.normal(size=(320, 20)).astype("float32")
y = (x[:, :3].sum(axis=1) > 0).astype("float32")

model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dropout(0.3),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile("rmsprop", "binary_crossentropy", metrics=["accuracy"])
for step in range(120):
    chosen = random.sample(range(len(x)), 16)
    loss, accuracy = model.train_on_batch(x[chosen], y[chosen])
    if step % 10 == 0:
        print(step, float(loss).hex(), float(accuracy).hex())
    if step % 40 == 39:
        print("predicted", float(model.predict(x[:32], verbose=0).sum()).hex())
        print("evaluated", *(v.hex() for v in model.evaluate(x[:64], y[:64], verbose=0)))
print("weights", *(float(w.astype("float64").sum()).hex() for w in model.get_weights()))
print("next", random.random().hex(), np.random.random().hex())

"""Batches are cut, changed and copied in Python, and handed over one by one."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.random((2048, 48, 48, 3), "float32")
y = (x.mean(axis=(1, 2, 3)) > 0.5).astype("int32")

model = keras.Sequential(
    [
        keras.Input((48, 48, 3)),
        keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(2, activation="softmax"),
    ]
)
model.compile("adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])

for epoch in range(12):
    order = rng.permutation(len(x))
    for start in range(0, len(x), 32):
        chosen = order[start : start + 32]
        images = x[chosen]
        images = (images - images.mean((1, 2), keepdims=True)) / images.std((1, 2), keepdims=True)
        loss, accuracy = model.train_on_batch(images, y[chosen])
    print(f"epoch {epoch}: loss {loss:.4f}")

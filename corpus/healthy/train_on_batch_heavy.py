"""GAN-style loop with train_on_batch; the step is so heavy that the Python loop does not matter."""
import time

import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(10)
images = rng.random((1024, 48, 48, 3), dtype=np.float32)
labels = rng.integers(0, 2, (1024, 1)).astype("float32")

disc = keras.Sequential([
    layers.Input((48, 48, 3)),
    layers.Conv2D(48, 3, padding="same"), layers.LeakyReLU(),
    layers.Conv2D(64, 3, strides=2, padding="same"), layers.LeakyReLU(),
    layers.Conv2D(128, 3, strides=2, padding="same"), layers.LeakyReLU(),
    layers.Flatten(), layers.Dense(1, activation="sigmoid"),
])
disc.compile(optimizer="adam", loss="binary_crossentropy")
BATCH = 64
t0 = time.perf_counter()
for epoch in range(9):
    order = rng.permutation(len(images))
    for i in range(0, len(images), BATCH):
        idx = order[i:i + BATCH]
        loss = disc.train_on_batch(images[idx], labels[idx])
    print("epoch", epoch, "loss", float(loss))
print(f"training took {time.perf_counter() - t0:.1f} s")

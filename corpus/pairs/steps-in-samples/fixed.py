"""An epoch is asked for the batches that one pass over the data has."""

import keras
import numpy as np


def batches(images, labels, batch_size):
    while True:
        order = np.random.permutation(len(images))
        for at in range(0, len(images), batch_size):
            chosen = order[at : at + batch_size]
            yield images[chosen], labels[chosen]


keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
images = rng.random((256, 8), dtype="float32")
labels = images.sum(axis=1)
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(batches(images, labels, 32), steps_per_epoch=len(images) // 32, epochs=2, verbose=2)

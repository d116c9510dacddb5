"""The same script with the names of Keras 3."""

import keras
import numpy as np
from keras import utils as np_utils

rng = np.random.default_rng(0)
images = rng.random((256, 16), dtype="float32")
labels = np_utils.to_categorical(rng.integers(0, 4, 256), 4)


def batches():
    while True:
        for start in range(0, 256, 32):
            yield images[start : start + 32], labels[start : start + 32]


model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(4, activation="softmax")])
model.compile(keras.optimizers.SGD(learning_rate=0.1), "categorical_crossentropy")
model.fit(batches(), steps_per_epoch=8, epochs=2, verbose=2)

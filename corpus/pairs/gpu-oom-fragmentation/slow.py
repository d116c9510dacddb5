"""Sequences of every length make tensors of every size in the memory of a GPU.

It suffers on a GPU that the longest batch nearly fills. On a CPU it trains as it should.
"""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)


def batches():
    while True:
        length = int(rng.integers(50, 500))
        yield rng.random((64, length, 64), "float32"), rng.integers(0, 10, 64)


model = keras.Sequential(
    [
        keras.Input((None, 64)),
        keras.layers.Conv1D(256, 5, padding="same", activation="relu"),
        keras.layers.Conv1D(256, 5, padding="same", activation="relu"),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(batches(), steps_per_epoch=20, epochs=1, verbose=2)

"""Fits on a plain Python generator.
Expect: kind=fit, steps=2*n, input=generator, wait=measured
"""

import sys

import numpy as np
from tensorflow.keras.layers import Dense, Flatten, Input
from tensorflow.keras.losses import SparseCategoricalCrossentropy
from tensorflow.keras.models import Sequential

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
images = np.random.default_rng(0).integers(0, 255, (400, 20, 20), dtype="uint8")
labels = np.arange(400) % 10


def batch_generator(batch_size):  # line: generator
    while True:
        chosen = np.random.choice(len(images), batch_size)
        batch = images[chosen].astype("float32") / 255.0
        flip = np.random.rand(batch_size) < 0.5
        batch[flip] = batch[flip, :, ::-1]
        yield batch, labels[chosen]


model = Sequential([Input((20, 20)), Flatten(), Dense(256, activation="relu"), Dense(10)])
model.compile(optimizer="adam", loss=SparseCategoricalCrossentropy(from_logits=True))
model.fit(batch_generator(32), steps_per_epoch=n, epochs=2, verbose=0)  # the loop

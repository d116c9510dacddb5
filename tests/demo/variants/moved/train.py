"""The demo's slow script with its generator in another module."""
# ruff: noqa: TID253

import sys

import keras
from feeding.source import SIZE, stream

keras.utils.set_random_seed(1)
batches, classes, steps = stream(sys.argv[1])
layers = keras.layers
model = keras.Sequential(
    [
        keras.Input((*SIZE, 3)),
        layers.Conv2D(8, 3, strides=2, activation="relu"),
        layers.Conv2D(16, 3, strides=2, activation="relu"),
        layers.Conv2D(32, 3, strides=2, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(classes, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
model.fit(batches, steps_per_epoch=steps, epochs=100, verbose=0)

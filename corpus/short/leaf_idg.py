"""Leaf disease classifier, still on the old ImageDataGenerator.

first:  python leaf_idg.py prepare
then:   python leaf_idg.py
"""
import os
import sys
import tempfile

import numpy as np
from keras import Sequential, layers
from keras.src.legacy.preprocessing.image import ImageDataGenerator
from PIL import Image

DATA = os.path.join(tempfile.gettempdir(), "blind_leaves")
IMG = 200


def prepare():
    rng = np.random.default_rng(0)
    for c, tint in (("healthy", 40), ("rust", 120), ("blight", 200)):
        os.makedirs(os.path.join(DATA, c), exist_ok=True)
        for k in range(128):
            a = rng.integers(0, 60, (10, 10, 3)).astype("uint8")
            a[..., 0] += tint // 2
            Image.fromarray(a).resize((IMG, IMG)).save(os.path.join(DATA, c, f"{k}.png"))


def main():
    augment = ImageDataGenerator(
        rescale=1 / 255.0,
        rotation_range=40,
        shear_range=0.2,
        zoom_range=0.3,
        width_shift_range=0.2,
        height_shift_range=0.2,
        channel_shift_range=10,
        horizontal_flip=True,
    )
    train = augment.flow_from_directory(DATA, target_size=(IMG, IMG), batch_size=32, class_mode="sparse")

    model = Sequential([
        layers.Input((IMG, IMG, 3)),
        layers.Conv2D(8, 3, strides=2, activation="relu"),
        layers.Conv2D(16, 3, strides=2, activation="relu"),
        layers.Conv2D(32, 3, strides=2, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(3, activation="softmax"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(train, epochs=3)


if __name__ == "__main__":
    prepare() if "prepare" in sys.argv else main()

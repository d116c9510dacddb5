"""Trains a small image classifier from a Python generator, as many scripts do."""

import argparse
import random
from pathlib import Path

import keras
import numpy as np
from PIL import Image

IMAGE_SIZE = (160, 160)
BATCH_SIZE = 32


def load_image(path):
    image = Image.open(path).convert("RGB")
    image = image.resize(IMAGE_SIZE, Image.BILINEAR)
    return np.array(image) / 255.0


def image_batches(paths, class_names):
    while True:
        random.shuffle(paths)
        for start in range(0, len(paths) - BATCH_SIZE + 1, BATCH_SIZE):
            images, labels = [], []
            for path in paths[start : start + BATCH_SIZE]:
                images.append(load_image(path))
                labels.append(class_names.index(path.parent.name))
            yield np.array(images), np.array(labels)


def build_model(classes):
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((*IMAGE_SIZE, 3)),
            layers.Conv2D(8, 3, strides=2, activation="relu"),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.Conv2D(32, 3, strides=2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(classes, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="one subfolder of JPEGs per class")
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()

    keras.utils.set_random_seed(1)
    paths = sorted(options.folder.glob("*/*.jpg"))
    class_names = sorted({path.parent.name for path in paths})

    model = build_model(len(class_names))
    model.fit(
        image_batches(paths, class_names),
        steps_per_epoch=len(paths) // BATCH_SIZE,
        epochs=options.epochs,
        verbose=2,
    )


if __name__ == "__main__":
    main()

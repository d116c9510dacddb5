"""Trains the classifier of slow.py on the same images, read by a tf.data pipeline."""

import argparse
from pathlib import Path

import keras
import tensorflow as tf

IMAGE_SIZE = (160, 160)
BATCH_SIZE = 32


def load_image(path, label):
    # The decoder and the filter that PIL uses, so that the pixels stay the same.
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3, dct_method="INTEGER_ACCURATE")
    image = tf.image.resize(image, IMAGE_SIZE, method="bilinear", antialias=True)
    return image / 255.0, label


def image_dataset(paths, class_names):
    labels = [class_names.index(path.parent.name) for path in paths]
    dataset = tf.data.Dataset.from_tensor_slices(([str(path) for path in paths], labels))
    # Endless, as the generator was: a new iterator per epoch would start with empty buffers.
    dataset = dataset.shuffle(len(paths), seed=1).repeat()
    dataset = dataset.map(load_image, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(BATCH_SIZE, drop_remainder=True)
    return dataset.prefetch(tf.data.AUTOTUNE)


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
        image_dataset(paths, class_names),
        steps_per_epoch=len(paths) // BATCH_SIZE,
        epochs=options.epochs,
        verbose=2,
    )


if __name__ == "__main__":
    main()

"""Trains on datasets of many kinds and prints every loss, batch and trace, bit by bit."""

import hashlib
import os
import tempfile

import keras
import numpy as np
import tensorflow as tf

TRACED = []


def digest(arrays):
    """Return what tells whether arrays are the same bits."""
    return hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in arrays)).hexdigest()[:16]


def work(image, label):
    """Compute something that depends on every bit of an image."""
    TRACED.append("work")
    return tf.nn.softmax(image * 3.0 - tf.reduce_mean(image)), label


def augment(image, label):
    """Draw random numbers."""
    TRACED.append("augment")
    return image + tf.random.uniform((), 0, 0.1), label


def load(path, label):
    """Read a file."""
    TRACED.append("load")
    image = tf.io.decode_raw(tf.io.read_file(path), tf.float32)
    return tf.ensure_shape(image, (12,)), label


class Counting(keras.layers.Dense):
    """Notes when it is traced."""

    def call(self, inputs):
        """Do what a dense layer does."""
        TRACED.append("model")
        return super().call(inputs)


def new_model():
    """Return a small model with random numbers of its own."""
    model = keras.Sequential([keras.layers.Dropout(0.2), Counting(4)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss)
    return model


def fit(name, dataset, **options):
    """Train and print what came out."""
    model = new_model()
    history = model.fit(dataset, verbose=0, **options).history
    print(name, {key: [value.hex() for value in values] for key, values in history.items()})
    print(name, digest(model.get_weights()), len(TRACED))


def main():
    """Run all kinds."""
    keras.utils.set_random_seed(7)
    x = np.random.default_rng(1).random((120, 12), "float32")
    y = np.arange(120) % 4
    rows = tf.data.Dataset.from_tensor_slices((x, y))
    validation = rows.take(40).map(work).batch(10)
    shuffled = rows.shuffle(50).map(work, num_parallel_calls=2).batch(10)
    fit("shuffle, map, batch", shuffled, epochs=5, validation_data=validation)
    fit("the same again", shuffled, epochs=2)
    for _ in range(3):
        print("by hand", digest(part for batch in shuffled for part in batch))
    fit("map, shuffle, batch", rows.map(work).shuffle(120, seed=3).batch(7).prefetch(2), epochs=4)
    fit("random map", rows.map(work).shuffle(30).map(augment).batch(10), epochs=4)
    repeated = rows.shuffle(120).repeat().map(work).batch(10)
    fit("repeat", repeated, epochs=4, steps_per_epoch=9)
    fixed = rows.shuffle(120, reshuffle_each_iteration=False).map(work).batch(10)
    fit("one shuffle", fixed, epochs=3)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"{number}.raw") for number in range(120)]
        for path, row in zip(paths, x, strict=True):
            row.tofile(path)
        files = tf.data.Dataset.from_tensor_slices((paths, y)).shuffle(120).map(load).batch(10)
        fit("files", files, epochs=3)
        for path, row in zip(paths, x, strict=True):
            (row + 1).tofile(path)
        fit("changed files", files, epochs=2)
    for batch in shuffled.take(2):
        print("a part", digest(batch))
    print("seeds", [float(tf.random.uniform(())).hex() for _ in range(3)], TRACED)


main()

# EXPECT from-generator line=52
# NOTE from_generator over PNG files with PIL decode in Python: one thread, GIL; tf.io.read_file + tf.io.decode_png would do
# SEEN ran (rc 0), 'Your input ran out of data' as from_generator has no length
"""Leaf disease detection (small CNN)."""
import os
import random
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image
from tensorflow import keras
from tensorflow.keras import layers

IMG = 40
CLASSES = ["healthy", "rust", "scab"]
BATCH_SIZE = 16


def write_leaves(root, per_class=30):
    rng = np.random.default_rng(0)
    tint = {"healthy": (40, 160, 40), "rust": (170, 90, 30), "scab": (70, 70, 60)}
    for name in CLASSES:
        os.makedirs(os.path.join(root, name))
        for i in range(per_class):
            base = np.array(tint[name]) + rng.normal(0, 20, (60, 50, 3))
            img = Image.fromarray(np.clip(base, 0, 255).astype("uint8"))
            img.save(os.path.join(root, name, f"{i}.png"))


def list_leaves(root):
    items = []
    for label, name in enumerate(CLASSES):
        folder = os.path.join(root, name)
        for fname in sorted(os.listdir(folder)):
            items.append((os.path.join(folder, fname), label))
    random.Random(1).shuffle(items)
    return items


def leaf_reader(items):
    def read():
        for path, label in items:
            with Image.open(path) as im:
                im = im.convert("RGB").resize((IMG, IMG))
                yield np.asarray(im, dtype=np.float32) / 255.0, label

    return read


def make_dataset(items, training=False):
    ds = tf.data.Dataset.from_generator(
        leaf_reader(items),
        output_signature=(
            tf.TensorSpec((IMG, IMG, 3), tf.float32),
            tf.TensorSpec((), tf.int32),
        ),
    )
    if training:
        ds = ds.shuffle(256, seed=2)
    ds = ds.batch(BATCH_SIZE)
    return ds.prefetch(tf.data.AUTOTUNE)


def build():
    model = keras.Sequential([
        keras.Input((IMG, IMG, 3)),
        layers.RandomFlip("horizontal"),
        layers.Conv2D(8, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(16, 3, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(len(CLASSES)),
    ])
    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


if __name__ == "__main__":
    keras.utils.set_random_seed(0)
    with tempfile.TemporaryDirectory() as tmp:
        write_leaves(tmp)
        items = list_leaves(tmp)
        cut = int(len(items) * 0.8)
        train_ds = make_dataset(items[:cut], training=True)
        val_ds = make_dataset(items[cut:])
        model = build()
        model.fit(train_ds, validation_data=val_ds, epochs=2, verbose=2)

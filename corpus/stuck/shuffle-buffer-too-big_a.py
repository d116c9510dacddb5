# EXPECT stuck=shuffle-buffer-too-big line=44 also=59
# NOTE 2000 photos have to be opened, rotated and scaled before the shuffle buffer hands out the first one: some 50 s before step 1. (Also fair: line 59.)
import os
import tempfile

import numpy as np
import tensorflow as tf
from PIL import Image

AUTOTUNE = tf.data.AUTOTUNE
BUFFER = 2000


def write_photos(n=40):
    folder = tempfile.mkdtemp(prefix="birds_")
    rng = np.random.default_rng(5)
    names = []
    for i in range(n):
        small = Image.fromarray(rng.integers(0, 255, (60, 80, 3), dtype=np.uint8))
        name = os.path.join(folder, f"bird{i:02d}.jpg")
        small.resize((1000, 750)).save(name, quality=90)
        names.append(name)
    return names


def _load_py(name):
    im = Image.open(name.decode()).convert("RGB")
    im = im.rotate(np.random.uniform(-20, 20), resample=Image.BILINEAR)
    return np.asarray(im.resize((64, 64)), dtype=np.float32) / 255.0


def load(name, label):
    img = tf.numpy_function(_load_py, [name], tf.float32)
    img.set_shape((64, 64, 3))
    return img, label


names = write_photos()
labels = [i % 5 for i in range(len(names))]

train_ds = tf.data.Dataset.from_tensor_slices((names, labels))
train_ds = train_ds.repeat(60)
train_ds = train_ds.map(load)
train_ds = train_ds.shuffle(BUFFER)
train_ds = train_ds.batch(16).prefetch(AUTOTUNE)

model = tf.keras.Sequential([
    tf.keras.layers.Input((64, 64, 3)),
    tf.keras.layers.Conv2D(16, 3, activation="relu"),
    tf.keras.layers.MaxPool2D(4),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(5),
])
model.compile(
    optimizer="adam",
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(train_ds, epochs=1)

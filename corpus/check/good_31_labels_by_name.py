# EXPECT none
# NOTE os.listdir order does not matter: each label is looked up by the file's name; broken files are skipped together with their label; the zip is shuffled afterwards
# SEEN fine, exit 0; last line: 5/5 - 0s - 17ms/step - accuracy: 1.0000 - loss: 0.4079
import csv
import os
import tempfile

import keras
import numpy as np
import tensorflow as tf
from PIL import Image


def create(folder):
    rng = np.random.default_rng(0)
    rows = []
    for i in rng.permutation(40):
        cls = int(i % 2)
        arr = rng.integers(0, 100, (16, 16, 3)) + 120 * cls
        name = f"pic_{i:03d}.png"
        path = os.path.join(folder, name)
        if i % 13 == 5:
            open(path, "wb").close()
        else:
            Image.fromarray(arr.astype("uint8")).save(path)
        rows.append((name, cls))
    with open(os.path.join(folder, "labels.csv"), "w", newline="") as fh:
        csv.writer(fh).writerows(sorted(rows))


def read(folder):
    with open(os.path.join(folder, "labels.csv"), newline="") as fh:
        table = {name: int(cls) for name, cls in csv.reader(fh)}
    images, labels = [], []
    for name in os.listdir(folder):
        if not name.endswith(".png"):
            continue
        path = os.path.join(folder, name)
        if os.path.getsize(path) == 0:
            continue
        with Image.open(path) as im:
            images.append(np.asarray(im.resize((16, 16)), "float32") / 255.0)
        labels.append(table[name])
    return np.stack(images), np.array(labels)


with tempfile.TemporaryDirectory() as tmp:
    create(tmp)
    x, y = read(tmp)

assert ((x.mean((1, 2, 3)) > 0.4) == y).all()
images = tf.data.Dataset.from_tensor_slices(x).map(lambda im: im - 0.5)
labels = tf.data.Dataset.from_tensor_slices(y)
ds = tf.data.Dataset.zip((images, labels)).shuffle(len(x)).batch(8)

model = keras.Sequential([
    keras.layers.Input((16, 16, 3)),
    keras.layers.GlobalAveragePooling2D(),
    keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(0.1), "binary_crossentropy", metrics=["accuracy"])
model.fit(ds, epochs=3, verbose=2)

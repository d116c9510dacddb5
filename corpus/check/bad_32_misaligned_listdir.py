# EXPECT label-misalignment line=57
# NOTE the label table is in sorted order of the names, the images are read in os.listdir order; marked is the fit that pairs them, os.listdir in read_images would do too
# SEEN runs; only 65 % of the labels fit their picture
import csv
import os
import tempfile

import keras
import numpy as np
from keras import layers
from keras.utils import img_to_array, load_img
from PIL import Image


def create(folder):
    """Writes 40 pictures and a table of their brightness class, in random order of creation."""
    rng = np.random.default_rng(0)
    rows = []
    for i in rng.permutation(40):
        cls = int(rng.integers(0, 2))
        arr = rng.integers(0, 100, (16, 16, 3)) + 120 * cls
        name = f"pic_{i:03d}.png"
        Image.fromarray(arr.astype("uint8")).save(os.path.join(folder, "images", name))
        rows.append((name, cls))
    with open(os.path.join(folder, "labels.csv"), "w", newline="") as fh:
        csv.writer(fh).writerows(sorted(rows))


def read_labels(path):
    with open(path, newline="") as fh:
        return np.array([int(row[1]) for row in csv.reader(fh)])


def read_images(folder):
    pictures = []
    for name in os.listdir(folder):
        picture = load_img(os.path.join(folder, name), target_size=(16, 16))
        pictures.append(img_to_array(picture) / 255.0)
    return np.stack(pictures)


with tempfile.TemporaryDirectory() as root:
    os.mkdir(os.path.join(root, "images"))
    create(root)
    x = read_images(os.path.join(root, "images"))
    y = read_labels(os.path.join(root, "labels.csv"))
    truth = (x.mean((1, 2, 3)) > 0.4).astype(int)
    print("labels that fit their picture:", (truth == y).mean())

model = keras.Sequential([
    layers.Input((16, 16, 3)),
    layers.Conv2D(4, 3, activation="relu"),
    layers.GlobalAveragePooling2D(),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=3, batch_size=8, verbose=2)

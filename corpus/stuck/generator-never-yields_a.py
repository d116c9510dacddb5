# EXPECT stuck=generator-never-yields line=40
# NOTE the ids in the csv have no ".jpg", so every Image.open fails, the bare except skips it, and the generator never fills a batch.
import csv
import os
import random
import tempfile

import numpy as np
from PIL import Image
import tensorflow as tf
from tensorflow.keras import layers, models

IMG_SIZE = 64
BATCH_SIZE = 8

# ---- fake "competition" folder -------------------------------------------
root = tempfile.mkdtemp(prefix="leaf_disease_")
os.makedirs(os.path.join(root, "train_images"))
rows = []
rng = np.random.default_rng(3)
for i in range(40):
    arr = rng.integers(0, 255, (80, 96, 3), dtype=np.uint8)
    Image.fromarray(arr).save(os.path.join(root, "train_images", "%04d.jpg" % i), quality=85)
    rows.append(["%04d" % i, i % 2])
with open(os.path.join(root, "train.csv"), "w", newline="") as f:
    csv.writer(f).writerows(rows)

# ---- read labels ----------------------------------------------------------
with open(os.path.join(root, "train.csv")) as f:
    train = [(r[0], int(r[1])) for r in csv.reader(f)]
print("train samples:", len(train))


def train_generator(samples, batch_size):
    while True:
        random.shuffle(samples)
        xs, ys = [], []
        for image_id, label in samples:
            try:
                img = Image.open(os.path.join(root, "train_images", image_id))
                img = img.convert("RGB").resize((IMG_SIZE, IMG_SIZE))
                xs.append(np.asarray(img, dtype="float32") / 255.0)
                ys.append(label)
            except Exception:
                # some pictures are corrupt, skip them
                continue
            if len(xs) == batch_size:
                yield np.stack(xs), np.array(ys)
                xs, ys = [], []


model = models.Sequential([
    layers.Input((IMG_SIZE, IMG_SIZE, 3)),
    layers.Conv2D(8, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(2, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
print("start training")
history = model.fit(train_generator(train, BATCH_SIZE), steps_per_epoch=5, epochs=3)
print("done", history.history["loss"])

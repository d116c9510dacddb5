# EXPECT resize-then-convert line=21
# NOTE resize already returned float32 0..255, convert_image_dtype then does nothing: the net sees 0..255
# SEEN runs; printed batch maximum 217.1 instead of <= 1, loss 140 at chance accuracy 0.25
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, Sequential, optimizers

SIZE = 28


def parse_image(filename):
    parts = tf.strings.split(filename, os.sep)
    label = tf.strings.to_number(tf.strings.split(parts[-1], "_")[0], tf.int32)

    image = tf.io.read_file(filename)
    image = tf.io.decode_jpeg(image, channels=3)
    image = tf.image.resize(image, [SIZE, SIZE])
    image = tf.image.convert_image_dtype(image, tf.float32)
    return image, label


def create(root):
    rng = np.random.default_rng(11)
    for i in range(40):
        label = i % 4
        a = np.full((32, 36, 3), 40 + 50 * label) + rng.integers(0, 30, (32, 36, 3))
        tf.io.write_file(os.path.join(root, f"{label}_{i}.jpg"), tf.io.encode_jpeg(a.astype("uint8")))


root = tempfile.mkdtemp()
create(root)

ds = tf.data.Dataset.list_files(root + "/*.jpg", seed=0)
ds = ds.map(parse_image, num_parallel_calls=tf.data.AUTOTUNE).batch(8)

for images, labels in ds.take(1):
    print("Image shape:", images.shape, "max", float(tf.reduce_max(images)))

model = Sequential()
model.add(layers.Input((SIZE, SIZE, 3)))
model.add(layers.Conv2D(16, 3, activation="relu"))
model.add(layers.MaxPool2D())
model.add(layers.Flatten())
model.add(layers.Dense(4, activation="softmax"))
model.compile(optimizer=optimizers.Adam(), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(ds, epochs=2)

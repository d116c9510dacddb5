# EXPECT none
# NOTE decode_image without the argument, but the shape is set before resize (one branch set_shape, other tf.ensure_shape / reshape)
# SEEN fine, exit 0; last line: [0.6866077184677124, 0.5]
import os
import tempfile

import keras
import numpy as np
import tensorflow as tf


class FolderData:
    def __init__(self, size=(20, 20), batch=4, grey=False):
        self.size, self.batch, self.grey = size, batch, grey
        self.channels = 1 if grey else 3

    def _read(self, path):
        blob = tf.io.read_file(path)
        img = tf.image.decode_image(blob, channels=self.channels)
        if self.grey:
            img = tf.ensure_shape(img, (None, None, 1))
        else:
            img.set_shape([None, None, 3])
        img = tf.image.resize(img, self.size)
        return tf.cast(img, tf.float32) / 255.0

    def dataset(self, paths, labels, training):
        ds = tf.data.Dataset.from_tensor_slices((paths, labels))
        if training:
            ds = ds.shuffle(len(paths))
        ds = ds.map(lambda p, l: (self._read(p), l), num_parallel_calls=tf.data.AUTOTUNE)
        return ds.batch(self.batch).prefetch(tf.data.AUTOTUNE)


def write(n, root):
    rng = np.random.default_rng(0)
    paths, labels = [], []
    for i in range(n):
        lab = i % 2
        arr = rng.integers(0, 128 + 127 * lab, (24, 30, 3)).astype("uint8")
        path = os.path.join(root, f"{i}.png")
        with open(path, "wb") as fh:
            fh.write(tf.io.encode_png(arr).numpy())
        paths.append(path)
        labels.append(lab)
    return paths, labels


with tempfile.TemporaryDirectory() as root:
    paths, labels = write(24, root)
    for grey in (False, True):
        data = FolderData(grey=grey)
        net = keras.Sequential([
            keras.layers.Input(data.size + (data.channels,)),
            keras.layers.Conv2D(4, 3, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(2, activation="softmax"),
        ])
        net.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        net.fit(data.dataset(paths[:16], labels[:16], True), epochs=1, verbose=2)
        print(net.evaluate(data.dataset(paths[16:], labels[16:], False), verbose=0))

# EXPECT none
# NOTE the same drop_broken(paths) as in the bad project, but the labels are computed from the surviving paths
# SEEN fine, exit 0; last line: 6/6 - 0s - 12ms/step - accuracy: 0.3704 - loss: 0.9185
import glob
import os
import tempfile

import numpy as np
import tensorflow as tf

from clean import drop_broken


def write(folder):
    rng = np.random.default_rng(0)
    for i in range(60):
        path = os.path.join(folder, f"{i % 3}_{i:03d}.png")
        if i in (0, 3, 4, 7, 9, 12):
            open(path, "wb").write(b"\x89PNG")
            continue
        arr = rng.integers(0, 60, (14, 14, 1)) + 80 * (i % 3)
        tf.io.write_file(path, tf.io.encode_png(arr.astype("uint8")))


def load(path, label):
    img = tf.io.decode_png(tf.io.read_file(path), channels=1)
    return tf.image.resize(img, (12, 12)) / 255.0, label


def main():
    folder = tempfile.mkdtemp()
    write(folder)
    paths = glob.glob(os.path.join(folder, "*.png"))
    paths = drop_broken(paths)
    labels = [int(os.path.basename(p).split("_")[0]) for p in paths]
    n = len(paths)
    ds = tf.data.Dataset.from_tensor_slices((paths, labels[:n])).shuffle(n).map(load).batch(9)
    for x, y in ds:
        true = np.clip(np.round((x.numpy().mean((1, 2, 3)) * 255 - 30) / 80), 0, 2)
        assert (true == y.numpy()).all()
    model = tf.keras.Sequential([
        tf.keras.layers.Input((12, 12, 1)),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(3, activation="softmax"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(ds, epochs=3, verbose=2)


if __name__ == "__main__":
    main()

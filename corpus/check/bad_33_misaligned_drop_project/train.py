# EXPECT label-misalignment file=dataset.py line=24
# NOTE labels were listed before drop_broken removed files from the paths only; the list is then cut to the length; a report at the drop_broken call would do too
# SEEN runs; 10 of 54 labels belong to another picture
import os
import tempfile

import numpy as np
import tensorflow as tf

from dataset import make_dataset


def write(folder):
    rng = np.random.default_rng(0)
    for i in range(60):
        label = i % 3
        path = os.path.join(folder, f"{label}_{i:03d}.png")
        if i in (0, 3, 4, 7, 9, 12):
            open(path, "wb").write(b"\x89PNG")     # broken download
            continue
        arr = rng.integers(0, 60, (14, 14, 1)) + 80 * label
        tf.io.write_file(path, tf.io.encode_png(arr.astype("uint8")))


def main():
    folder = tempfile.mkdtemp()
    write(folder)
    ds = make_dataset(folder, batch=9)
    means = np.concatenate([x.numpy().mean((1, 2, 3)) for x, _ in ds.take(1)])
    print("mean brightness of the first batch", means.round(2))

    wrong = total = 0
    for x, y in ds:
        true = np.clip(np.round((x.numpy().mean((1, 2, 3)) * 255 - 30) / 80), 0, 2)
        wrong += int((true != y.numpy()).sum())
        total += len(true)
    print(f"{wrong} of {total} labels belong to another picture")

    model = tf.keras.Sequential([
        tf.keras.layers.Input((12, 12, 1)),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(3, activation="softmax"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(ds, epochs=3, verbose=2)


if __name__ == "__main__":
    main()

# EXPECT decode-image-no-shape file=imaging/prepare.py line=11
# NOTE helper's default parameter decoder=tf.io.decode_image, resize in another module, mapped in a third; a report in imaging/files.py (the decoder default or call) is as good
# SEEN ValueError: 'images' contains no shape.
import argparse
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras

from imaging import Preparer


def fake_folder(n):
    rng = np.random.default_rng(0)
    root = tempfile.mkdtemp()
    paths, labels = [], []
    for i in range(n):
        label = i % 2
        arr = rng.integers(0, 256, (36, 36, 3)).astype("uint8")
        arr[:18 if label else 36] //= 2
        path = os.path.join(root, "im%03d.jpg" % i)
        tf.io.write_file(path, tf.io.encode_jpeg(arr))
        paths.append(path)
        labels.append(label)
    return paths, labels


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--size", type=int, default=32)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--epochs", type=int, default=1)
    return p.parse_args()


def main():
    args = parse()
    paths, labels = fake_folder(16)
    ds = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(len(paths))
    ds = ds.map(Preparer((args.size, args.size)), num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.batch(args.batch).prefetch(1)

    model = keras.Sequential([
        keras.Input((args.size, args.size, 3)),
        keras.layers.Conv2D(8, 5, strides=2, activation="relu"),
        keras.layers.GlobalMaxPooling2D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("rmsprop", "binary_crossentropy", metrics=["accuracy"])
    model.fit(ds, epochs=args.epochs, verbose=2)


if __name__ == "__main__":
    main()

# EXPECT resize-then-convert file=transforms.py line=13
# NOTE the order of the composed steps (resize first) makes to_unit_range a no-op; uint8 arrays come in
# SEEN runs; printed pixel range -1..397 instead of -1..1, accuracy 0.375 (chance)
import numpy as np
import tensorflow as tf
from tensorflow import keras

import transforms as T

PREPROCESS = T.compose(T.resize_to((20, 20)), T.to_unit_range, T.centre)


def toy_images(n):
    rng = np.random.default_rng(n)
    y = rng.integers(0, 3, n)
    x = rng.integers(0, 80, (n, 28, 28, 3))
    x[np.arange(n), :, :, y] += 120
    return x.astype("uint8"), y


def dataset(n, shuffle):
    x, y = toy_images(n)
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    if shuffle:
        ds = ds.shuffle(n)
    return ds.map(PREPROCESS, num_parallel_calls=tf.data.AUTOTUNE).batch(16)


def main():
    train, test = dataset(96, True), dataset(48, False)
    batch, _ = next(iter(test))
    print("pixel range", batch.numpy().min(), batch.numpy().max())
    model = keras.Sequential([
        keras.Input((20, 20, 3)),
        keras.layers.SeparableConv2D(8, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(3, activation="softmax"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(train, validation_data=test, epochs=2, verbose=2)


if __name__ == "__main__":
    main()

# EXPECT none
# NOTE cache only in the branch without augmentation; the validation set goes through the same layers with training=False and may be cached
# SEEN fine, exit 0; last line: 6/6 - 0s - 16ms/step - accuracy: 0.5208 - loss: 0.6905 - val_accuracy: 0.5833 - val_loss: 0.6888
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers as L


def parser():
    p = argparse.ArgumentParser()
    p.add_argument("--no-augment", action="store_true")
    p.add_argument("--epochs", type=int, default=2)
    return p


AUG = keras.Sequential([L.RandomFlip(), L.RandomZoom(0.1)], name="aug")


def loaders(x, y, augment):
    n = int(len(x) * 0.8)
    train = tf.data.Dataset.from_tensor_slices((x[:n], y[:n]))
    if augment:
        train = train.shuffle(n).batch(8)
        train = train.map(lambda a, b: (AUG(a, training=True), b))
    else:
        train = train.cache()
        train = train.shuffle(n).batch(8)
    val = tf.data.Dataset.from_tensor_slices((x[n:], y[n:])).batch(8)
    val = val.map(lambda a, b: (AUG(a, training=False), b)).cache()
    return train.prefetch(tf.data.AUTOTUNE), val.prefetch(tf.data.AUTOTUNE)


def main():
    args = parser().parse_args()
    rng = np.random.default_rng(8)
    x = rng.uniform(size=(60, 14, 14, 3)).astype("float32")
    y = rng.integers(0, 2, 60)
    train, val = loaders(x, y, augment=not args.no_augment)
    model = keras.Sequential([
        L.Input((14, 14, 3)),
        L.Conv2D(4, 3, activation="relu"),
        L.GlobalAveragePooling2D(),
        L.Dense(1, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit(train, validation_data=val, epochs=args.epochs, verbose=2)
    one = np.concatenate([b.numpy() for b, _ in val])
    assert np.allclose(one, x[48:], atol=1e-6)


if __name__ == "__main__":
    main()

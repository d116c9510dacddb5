import argparse

import numpy as np
import tensorflow as tf

from features import matrix, random_sequences


def build(dim):
    return tf.keras.Sequential([
        tf.keras.layers.Input((dim,)),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dropout(0.3),
        tf.keras.layers.Dense(256, activation="relu"),
        tf.keras.layers.Dense(7, activation="softmax"),
    ])


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--n", type=int, default=800)
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--batch", type=int, default=64)
    return ap.parse_args()


if __name__ == "__main__":
    a = parse()
    tf.keras.utils.set_random_seed(5)
    x = matrix(random_sequences(a.n, 100, 5))
    y = np.random.randint(0, 7, a.n)
    net = build(x.shape[1])
    net.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    net.fit(x, y, epochs=a.epochs, batch_size=a.batch, validation_split=0.2, verbose=2)

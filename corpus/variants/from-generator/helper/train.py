# EXPECT cause=from-generator file=train.py line=38
# WHY click rows leave Python one by one through from_generator inside build_dataset(); the columns are arrays already
"""Two-tower click model, baseline for the shop competition."""
import argparse
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

N_USERS, N_ITEMS = 900, 4000


def make_clicks(n, seed=42):
    r = np.random.default_rng(seed)
    return {
        "user": r.integers(0, N_USERS, n).astype(np.int32),
        "item": r.integers(0, N_ITEMS, n).astype(np.int32),
        "ctx": r.random((n, 6)).astype(np.float32),
        "bought": r.integers(0, 2, n).astype(np.float32),
    }


def build_dataset(clicks, batch_size):
    def rows():
        for u, i, c, b in zip(clicks["user"], clicks["item"], clicks["ctx"], clicks["bought"]):
            yield {"user": u, "item": i, "ctx": c}, b

    sig = (
        {
            "user": tf.TensorSpec((), tf.int32),
            "item": tf.TensorSpec((), tf.int32),
            "ctx": tf.TensorSpec((6,), tf.float32),
        },
        tf.TensorSpec((), tf.float32),
    )
    ds = tf.data.Dataset.from_generator(rows, output_signature=sig)
    return ds.batch(batch_size).prefetch(tf.data.AUTOTUNE)


def two_tower():
    user = keras.Input((), dtype="int32", name="user")
    item = keras.Input((), dtype="int32", name="item")
    ctx = keras.Input((6,), name="ctx")
    u = layers.Embedding(N_USERS, 16)(user)
    i = layers.Embedding(N_ITEMS, 16)(item)
    h = layers.Concatenate()([u, i, ctx])
    h = layers.Dense(48, activation="relu")(h)
    out = layers.Dense(1, activation="sigmoid")(h)
    m = keras.Model({"user": user, "item": item, "ctx": ctx}, out)
    m.compile(optimizer="adam", loss="binary_crossentropy", metrics=["AUC"])
    return m


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--rows", type=int, default=15000)
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--bs", type=int, default=200)
    args = ap.parse_args()

    train = build_dataset(make_clicks(args.rows), args.bs)
    model = two_tower()
    t0 = time.time()
    model.fit(train, epochs=args.epochs, verbose=2)
    print(f"training took {time.time() - t0:.1f} s")

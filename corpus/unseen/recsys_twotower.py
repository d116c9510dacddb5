"""Two-tower recommender on implicit feedback."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf
import keras
from keras import layers

USERS, ITEMS, DIM = 30000, 20000, 48
EVENTS = 24000
BATCH = 512

keras.utils.set_random_seed(9)


def events():
    rng = np.random.default_rng(9)
    u = rng.integers(0, USERS, EVENTS)
    i = (u * 7 + rng.integers(0, 50, EVENTS)) % ITEMS
    y = rng.integers(0, 2, EVENTS).astype("float32")
    i = np.where(y > 0, i, rng.integers(0, ITEMS, EVENTS))
    return {"user": u.astype("int32"), "item": i.astype("int32")}, y


def tower(name, size):
    inp = keras.Input((), dtype="int32", name=name)
    x = layers.Embedding(size, DIM, name=f"{name}_emb")(inp)
    x = layers.Dense(32, activation="relu")(x)
    return inp, layers.Dense(32)(x)


def build():
    u, ue = tower("user", USERS)
    i, ie = tower("item", ITEMS)
    score = layers.Dot(axes=1)([ue, ie])
    out = layers.Activation("sigmoid")(score)
    m = keras.Model({"user": u, "item": i}, out)
    m.compile(optimizer=keras.optimizers.Adagrad(0.05), loss="binary_crossentropy")
    return m


def training_callbacks(folder):
    return [
        keras.callbacks.BackupAndRestore(os.path.join(folder, "backup")),
        keras.callbacks.ModelCheckpoint(
            os.path.join(folder, "latest.keras"), save_freq=2, verbose=0),
        keras.callbacks.CSVLogger(os.path.join(folder, "log.csv")),
    ]


def main():
    folder = tempfile.mkdtemp(prefix="twotower_")
    x, y = events()
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(EVENTS, seed=1).batch(BATCH).prefetch(2)
    model = build()
    model.fit(ds, epochs=3, verbose=2, callbacks=training_callbacks(folder))
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()

# EXPECT none
# NOTE ModelCheckpoint (best only) once per epoch with validation data
import pathlib
import shutil
import tempfile

import keras
import numpy as np


def blobs(n, rng):
    c = rng.integers(0, 8, n)
    centers = np.random.default_rng(0).normal(size=(8, 50)) * 2
    return (centers[c] + rng.normal(size=(n, 50))).astype("float32"), c


def main(epochs=11):
    rng = np.random.default_rng(2024)
    x, y = blobs(36000, rng)
    vx, vy = blobs(4000, rng)
    folder = pathlib.Path(tempfile.mkdtemp())

    net = keras.Sequential([
        keras.Input((50,)),
        keras.layers.Dense(640), keras.layers.BatchNormalization(), keras.layers.ReLU(),
        keras.layers.Dense(640), keras.layers.BatchNormalization(), keras.layers.ReLU(),
        keras.layers.Dense(8, activation="softmax"),
    ])
    net.compile("adam", "sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy"])
    net.fit(x, y, validation_data=(vx, vy), batch_size=64, epochs=epochs, verbose=2, callbacks=[
        keras.callbacks.ModelCheckpoint(folder / "best.keras", save_best_only=True, monitor="val_loss"),
        keras.callbacks.TerminateOnNaN(),
    ])
    best = keras.models.load_model(folder / "best.keras")
    print(best.evaluate(vx, vy, verbose=0))
    shutil.rmtree(folder)


main()

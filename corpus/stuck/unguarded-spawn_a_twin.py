# EXPECT moving
# NOTE the same spawn pool behind the __main__ guard; pre-processing takes about 10 s, then it trains.
import glob
import multiprocessing
import os
import time

import numpy as np
import tensorflow as tf
from PIL import Image, ImageOps

DATA = "flowers_spawn_demo"


def to_vector(fname):
    time.sleep(1.0)
    im = ImageOps.grayscale(Image.open(fname)).resize((16, 16))
    return np.asarray(im, dtype=np.float32).ravel() / 255.0


if __name__ == "__main__":
    os.makedirs(DATA, exist_ok=True)
    if len(glob.glob(DATA + "/*.jpg")) < 16:
        for i in range(16):
            Image.fromarray(np.full((70, 90, 3), i * 15, dtype=np.uint8)).save(f"{DATA}/{i:02d}.jpg")
    files = sorted(glob.glob(DATA + "/*.jpg"))

    # preprocess everything in parallel; spawn because fork and tensorflow do not go together
    ctx = multiprocessing.get_context("spawn")
    pool = ctx.Pool(processes=2)
    X = np.array(pool.map(to_vector, files))
    pool.close()
    pool.join()
    y = (np.arange(len(files)) > 7).astype("float32")

    model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1, activation="sigmoid")])
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
    model.fit(X, y, epochs=20, verbose=2)

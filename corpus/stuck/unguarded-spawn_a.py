# EXPECT stuck=unguarded-spawn line=27 also=28
# NOTE the spawn pool is made at top level without the __main__ guard: each worker re-runs the script, dies with a RuntimeError and is replaced, so map() never returns. (Also fair: line 28.)
import glob
import multiprocessing
import os

import numpy as np
import tensorflow as tf
from PIL import Image, ImageOps

DATA = "flowers_spawn_demo"
os.makedirs(DATA, exist_ok=True)
if len(glob.glob(DATA + "/*.jpg")) < 16:
    for i in range(16):
        Image.fromarray(np.full((70, 90, 3), i * 15, dtype=np.uint8)).save(f"{DATA}/{i:02d}.jpg")


def to_vector(fname):
    im = ImageOps.grayscale(Image.open(fname)).resize((16, 16))
    return np.asarray(im, dtype=np.float32).ravel() / 255.0


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

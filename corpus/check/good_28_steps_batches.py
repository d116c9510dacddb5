# EXPECT none
# NOTE steps in batches: ceil(len/batch), cardinality of a batched dataset, len(files) where each file holds one batch
# SEEN fine, exit 0; last line: 6/6 - 0s - 2ms/step - loss: 2.4715
import math
import os
import tempfile

import keras
import numpy as np
import tensorflow as tf

BATCH = 16


def net(n=5):
    m = keras.Sequential([keras.Input((n,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    m.compile("adam", "mse")
    return m


def arrays(n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 5)).astype("float32")
    return x, x[:, :1] - x[:, 1:2]


x, y = arrays(100)

# 1) arithmetic
steps = math.ceil(len(x) / BATCH)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(100).batch(BATCH).repeat()
net().fit(ds, steps_per_epoch=steps, epochs=2, verbose=2)

# 2) the dataset knows
finite = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(100).batch(BATCH)
net().fit(finite.repeat(), steps_per_epoch=len(finite), epochs=2, verbose=2)

# 3) one file = one batch
folder = tempfile.mkdtemp()
for k in range(6):
    xb, yb = arrays(BATCH + k - 3)
    np.savez(os.path.join(folder, f"batch{k}.npz"), x=xb, y=yb)
files = sorted(os.path.join(folder, f) for f in os.listdir(folder))


def from_files():
    rng = np.random.default_rng(0)
    while True:
        for k in rng.permutation(len(files)):
            with np.load(files[k]) as z:
                yield z["x"], z["y"]


net().fit(from_files(), steps_per_epoch=len(files), epochs=2, verbose=2)

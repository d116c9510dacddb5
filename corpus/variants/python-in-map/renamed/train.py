# EXPECT cause=python-in-map file=train.py line=25
# WHY the filter is a Python loop behind numpy_function: the GIL makes parallel calls useless
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

EPOCHS = 10
rng = np.random.default_rng(2)
signals = rng.normal(size=(4000, 256)).astype("float32")
classes = rng.integers(0, 5, 4000)


def smooth(sig):
    out = np.empty_like(sig)
    acc = sig[0]
    for k in range(len(sig)):
        acc = 0.9 * acc + 0.1 * sig[k]
        out[k] = sig[k] - acc
    return out.astype(np.float32)


def prepare(sig, cls):
    clean = tf.numpy_function(smooth, [sig], tf.float32)
    clean.set_shape((256,))
    return clean, cls


ds = (tf.data.Dataset.from_tensor_slices((signals, classes))
      .shuffle(4000)
      .map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
      .batch(64)
      .prefetch(tf.data.AUTOTUNE))
model = keras.Sequential([
    keras.Input((256,)),
    keras.layers.Dense(128, activation="relu"),
    keras.layers.Dense(5, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
t0 = time.perf_counter()
model.fit(ds, epochs=EPOCHS, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

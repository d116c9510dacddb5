# EXPECT first=python-in-map file=train.py line=27 second=callback-batch-slow
# WHY a Python handwriting-stroke resampler behind py_function without parallel calls costs most; a per-batch callback that sorts the weights costs less
"""Classify pen gestures; strokes are resampled to equal arc length."""
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras


def resample(points, n=24):
    pts = points.numpy()
    total, out, k = 0.0, [], 0
    cum = [0.0]
    for a, b in zip(pts[:-1], pts[1:]):
        total += float(((a - b) ** 2).sum()) ** 0.5
        cum.append(total)
    for want in np.linspace(0, total, n):
        while k < len(cum) - 2 and cum[k + 1] < want:
            k += 1
        f = (want - cum[k]) / max(cum[k + 1] - cum[k], 1e-6)
        out.append(pts[k] + f * (pts[k + 1] - pts[k]))
    return np.asarray(out, "float32")


def prepare(points, label):
    fixed = tf.py_function(resample, [points], tf.float32)
    return tf.ensure_shape(fixed, (24, 2)), label


class WeightMedian(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.medians = []

    def on_train_batch_end(self, batch, logs=None):
        flat = np.concatenate([w.ravel() for w in self.model.get_weights()])
        self.medians.append(np.sort(flat)[len(flat) // 2])


r = np.random.default_rng(301)
strokes = r.standard_normal((4400, 60, 2)).astype("float32").cumsum(1)
kinds = r.integers(0, 7, 4400)
ds = tf.data.Dataset.from_tensor_slices((strokes, kinds)).map(prepare).batch(40).prefetch(tf.data.AUTOTUNE)
model = keras.Sequential([keras.Input((24, 2)), keras.layers.Flatten(), keras.layers.Dense(700, activation="relu"), keras.layers.Dense(350, activation="relu"), keras.layers.Dense(7, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
t0 = time.perf_counter()
model.fit(ds, epochs=3, callbacks=[WeightMedian()], verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

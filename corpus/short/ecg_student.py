# Homework 3 - heart beat classification (normal / irregular)
# Name: L. Moreau
import math
import random

import numpy as np
import tensorflow as tf
from tensorflow import keras

random.seed(3)
np.random.seed(3)

WINDOW = 260
BATCH = 24


def make_beat(irregular):
    """One fake ECG window as a python list."""
    phase = random.random() * 6.28
    out = []
    for t in range(WINDOW):
        v = math.sin(0.13 * t + phase) + 0.25 * math.sin(0.9 * t)
        if irregular:
            v += 0.4 * math.sin(0.031 * t * t / 10.0)
        out.append(v + random.gauss(0, 0.1))
    return out


def count_matches(signal, m, r):
    n = len(signal)
    matches = 0
    for i in range(n - m):
        for j in range(i + 1, n - m):
            if all(abs(signal[i + k] - signal[j + k]) <= r for k in range(m)):
                matches += 1
    return matches


def sample_entropy(signal, m=2):
    # formula from the lecture, slide 14
    mean = sum(signal) / len(signal)
    std = math.sqrt(sum((s - mean) ** 2 for s in signal) / len(signal))
    r = 0.2 * std
    a = count_matches(signal, m + 1, r)
    b = count_matches(signal, m, r)
    return -math.log((a + 1.0) / (b + 1.0))


def beats():
    while True:
        xs, es, ys = [], [], []
        for _ in range(BATCH):
            label = random.randint(0, 1)
            beat = make_beat(label)
            xs.append(beat)
            es.append([sample_entropy(beat)])
            ys.append(label)
        x = np.asarray(xs, dtype="float32")[..., None]
        yield (x, np.asarray(es, dtype="float32")), np.asarray(ys, dtype="float32")


sig = keras.Input((WINDOW, 1))
ent = keras.Input((1,))
h = keras.layers.Conv1D(32, 7, activation="relu")(sig)
h = keras.layers.MaxPooling1D(2)(h)
h = keras.layers.Conv1D(64, 5, activation="relu")(h)
h = keras.layers.GlobalAveragePooling1D()(h)
h = keras.layers.Concatenate()([h, ent])
h = keras.layers.Dense(32, activation="relu")(h)
out = keras.layers.Dense(1, activation="sigmoid")(h)
model = keras.Model((sig, ent), out)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])

sig_spec = (tf.TensorSpec((None, WINDOW, 1), tf.float32), tf.TensorSpec((None, 1), tf.float32))
ds = tf.data.Dataset.from_generator(beats, output_signature=(sig_spec, tf.TensorSpec((None,), tf.float32)))

hist = model.fit(ds, steps_per_epoch=4, epochs=2)
print("final accuracy:", hist.history["accuracy"][-1])

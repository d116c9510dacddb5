# EXPECT none
# NOTE endless pieces made finite: repeat().take(n), zip of a finite with an endless dataset (ends with the shorter), itertools.islice of an endless generator; no steps needed
# SEEN ran (rc 0), all three fits ended by themselves
"""Semi-supervised digits: few labelled, many unlabelled samples."""
import itertools

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

BATCH, DIM, CLASSES = 32, 20, 4
AUTO = tf.data.AUTOTUNE
keras.utils.set_random_seed(29)
rng = np.random.default_rng(29)
centres = rng.normal(0, 1.5, (CLASSES, DIM))


def draw(n, noise=1.0):
    y = rng.integers(0, CLASSES, n)
    return (centres[y] + rng.normal(0, noise, (n, DIM))).astype("float32"), y.astype("int32")


x_lab, y_lab = draw(64)
x_unl, _ = draw(960)
x_val, y_val = draw(200)

labelled = tf.data.Dataset.from_tensor_slices((x_lab, y_lab)).shuffle(64).repeat().batch(BATCH)
unlabelled = tf.data.Dataset.from_tensor_slices(x_unl).shuffle(960).batch(BATCH, drop_remainder=True)


def merge(pair, free):
    x, y = pair
    noisy = x + 0.1 * free
    return noisy, y


mixed = tf.data.Dataset.zip((labelled, unlabelled)).map(merge, num_parallel_calls=AUTO).prefetch(AUTO)
warmup = labelled.take(20).prefetch(AUTO)
val = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(50)


def fresh_samples():
    while True:
        yield draw(BATCH)


model = keras.Sequential([
    keras.Input((DIM,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(CLASSES, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])

print("warm-up")
model.fit(warmup, epochs=2, validation_data=val, verbose=2)
print("mixed")
model.fit(mixed, epochs=2, validation_data=val, verbose=2)
print("fresh")
some = (b for b in itertools.islice(fresh_samples(), 25))
model.fit(some, epochs=1, validation_data=val, verbose=2)

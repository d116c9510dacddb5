# EXPECT none
# NOTE cache sits in front of the random map although both functions are called "prepare"/"augment" and cache is applied in a helper
# SEEN fine, exit 0; last line: epochs differ, good
import functools

import numpy as np
import tensorflow as tf
from tensorflow import keras


def decode(x, y):
    return tf.cast(x, tf.float32) / 255.0, y


def augment(x, y, delta):
    x = tf.image.random_flip_up_down(x)
    x = tf.image.random_brightness(x, delta)
    return tf.clip_by_value(x, 0.0, 1.0), y


def remember(ds):
    return ds.cache()


def chain(ds, *steps):
    for step in steps:
        ds = step(ds)
    return ds


rng = np.random.default_rng(0)
x = rng.integers(0, 256, (64, 12, 12, 3)).astype("uint8")
y = rng.integers(0, 2, 64)

source = tf.data.Dataset.from_tensor_slices((x, y))
train = chain(
    source,
    lambda d: d.map(decode),
    remember,
    lambda d: d.shuffle(64),
    lambda d: d.map(functools.partial(augment, delta=0.2), num_parallel_calls=tf.data.AUTOTUNE),
    lambda d: d.batch(16),
    lambda d: d.prefetch(tf.data.AUTOTUNE),
)

model = keras.Sequential([
    keras.Input((12, 12, 3)),
    keras.layers.Conv2D(4, 3, activation="relu"),
    keras.layers.Flatten(),
    keras.layers.Dense(2, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(train, epochs=3, verbose=2)


def checksum():
    return sorted(float(v) for b, _ in train for v in tf.reduce_sum(b, (1, 2, 3)))


assert checksum() != checksum(), "augmentation should differ"
print("epochs differ, good")

# EXPECT labels-broadcast-in-loss line=44
# NOTE no Flatten/pooling before Dense(1): predictions (batch, 12, 12, 1), labels (batch,); mse broadcasts to (batch, 12, 12, batch); marked is the fit, a report at compile or at Dense(1) would do too
# SEEN runs; prediction shape (32, 12, 12, 1) against labels (32,)
"""Estimate the age of a (synthetic) face."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

BATCH_SIZE = 16


def get_data(n, seed):
    rng = np.random.default_rng(seed)
    ages = rng.uniform(10, 90, n).astype("float32")
    faces = rng.normal(0, 0.2, (n, 16, 16, 3)).astype("float32")
    faces += (ages / 100)[:, None, None, None]
    return faces, ages


def to_dataset(faces, ages, training):
    ds = tf.data.Dataset.from_tensor_slices((faces, ages))
    if training:
        ds = ds.shuffle(len(faces))
    return ds.batch(BATCH_SIZE).prefetch(tf.data.AUTOTUNE)


def build_model():
    inputs = keras.Input(shape=(16, 16, 3))
    x = layers.Conv2D(8, 3, activation="relu")(inputs)
    x = layers.BatchNormalization()(x)
    x = layers.Conv2D(16, 3, activation="relu")(x)
    x = layers.Dropout(0.2)(x)
    x = layers.Dense(16, activation="relu")(x)
    outputs = layers.Dense(1)(x)
    return keras.Model(inputs, outputs, name="age")


train = to_dataset(*get_data(128, 0), True)
test = to_dataset(*get_data(32, 1), False)

model = build_model()
model.compile(optimizer="adam", loss="mse")
model.fit(train, validation_data=test, epochs=2, verbose=2)
print("prediction shape", model.predict(test, verbose=0).shape)

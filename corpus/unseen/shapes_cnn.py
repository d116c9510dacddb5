"""Shape classification, in-memory arrays, standard Keras recipe."""
import os
import tempfile

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(1)


def shapes(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.random((n, 32, 32, 3), dtype="float32") * 0.4
    y = rng.integers(0, 5, n)
    for i in range(n):
        a, b = rng.integers(2, 14, 2)
        w = 4 + 3 * int(y[i])
        x[i, a:a + w, b:b + w, int(y[i]) % 3] += 0.5
    return x, y


def residual(x, f):
    s = layers.Conv2D(f, 1, strides=2)(x)
    x = layers.Conv2D(f, 3, strides=2, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv2D(f, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(layers.Add()([x, s]))


inp = keras.Input((32, 32, 3))
x = layers.RandomFlip("horizontal")(inp)
x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
for f in (48, 96):
    x = residual(x, f)
x = layers.GlobalAveragePooling2D()(x)
model = keras.Model(inp, layers.Dense(5, activation="softmax")(x))
model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])

x_train, y_train = shapes(1000, 0)
x_val, y_val = shapes(128, 1)
out = tempfile.mkdtemp()
model.fit(
    x_train, y_train, batch_size=64, epochs=6, validation_data=(x_val, y_val), verbose=2,
    callbacks=[
        keras.callbacks.ModelCheckpoint(os.path.join(out, "best.keras"), save_best_only=True),
        keras.callbacks.ReduceLROnPlateau(patience=2),
        keras.callbacks.EarlyStopping(patience=4, restore_best_weights=True),
        keras.callbacks.CSVLogger(os.path.join(out, "log.csv")),
    ],
)

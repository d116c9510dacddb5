"""A callback scores sequences of changing length with a `tf.function`, traced for each length."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.random((2048, 40, 8), "float32")
y = rng.random((2048, 1), "float32")

model = keras.Sequential(
    [
        keras.Input((None, 8)),
        keras.layers.Conv1D(32, 3, padding="same", activation="relu"),
        keras.layers.Conv1D(32, 3, padding="same", activation="relu"),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1),
    ]
)


@tf.function
def score(batch):
    return tf.reduce_mean(model(batch, training=False))


class Score(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch % 8 == 0:
            score(x[:16, : int(rng.integers(8, 40))])


model.compile("adam", loss="mse")
model.fit(x, y, batch_size=32, epochs=3, verbose=2, callbacks=[Score()])

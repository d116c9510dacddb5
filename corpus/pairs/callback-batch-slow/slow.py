"""A callback makes a histogram of every weight after every batch."""

import json

import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.random.default_rng(0).random((8192, 256), "float32")
y = x.sum(axis=1, keepdims=True)


class WeightLog(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        counts = [np.histogram(w, bins=50)[0].tolist() for w in self.model.get_weights()]
        self.text = json.dumps({"batch": batch, "loss": logs["loss"], "counts": counts})


model = keras.Sequential(
    [
        keras.Input((256,)),
        keras.layers.Dense(512, activation="relu"),
        keras.layers.Dense(512, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", loss="mse")
model.fit(x, y, batch_size=128, epochs=6, verbose=2, callbacks=[WeightLog()])

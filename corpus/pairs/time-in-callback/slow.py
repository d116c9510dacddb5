"""After every epoch a callback sorts the whole table of similarities between all items."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
pairs = rng.integers(0, 2500, (40_000, 2))
labels = (pairs[:, 0] % 7 == pairs[:, 1] % 7).astype("float32")


class NearestItems(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        vectors = self.model.get_layer("items").get_weights()[0]
        similar = vectors @ vectors.T
        order = np.argsort(-similar, axis=1)
        self.nearest = order[:, 1:6]


inputs = keras.Input((2,), dtype="int32")
vectors = keras.layers.Embedding(2500, 64, name="items")(inputs)
features = keras.layers.Dense(256, activation="relu")(keras.layers.Flatten()(vectors))
features = keras.layers.Dense(256, activation="relu")(features)
model = keras.Model(inputs, keras.layers.Dense(1)(features))
model.compile("adam", loss="mse")
model.fit(pairs, labels, batch_size=512, epochs=10, verbose=2, callbacks=[NearestItems()])

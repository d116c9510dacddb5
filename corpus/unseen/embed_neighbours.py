import tempfile; import keras
import numpy as np

(x, y) = np.random.default_rng(0).normal(size=(6000, 40)).astype("float32"), None
y = (x[:, :10].sum(1) > 0).astype("int32") + (x[:, 10:20].sum(1) > 0).astype("int32")

inp = keras.Input((40,))
h = keras.layers.Dense(256, activation="relu")(inp)
h = keras.layers.Dense(256, activation="relu")(h)
emb = keras.layers.Dense(16, name="emb")(h)
out = keras.layers.Dense(3, activation="softmax")(emb)
model = keras.Model(inp, out)
encoder = keras.Model(inp, emb)


class NeighbourPurity(keras.callbacks.Callback):
    """Share of nearest neighbours of the same class, on 260 samples."""

    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x[:260], y[:260]
        self.history = []

    def on_epoch_end(self, epoch, logs=None):
        z = encoder.predict_on_batch(self.x)
        hits = 0
        for i in range(len(z)):
            best, best_j = 1e9, -1
            for j in range(len(z)):
                if i == j:
                    continue
                d = float(((z[i] - z[j]) ** 2).sum())
                if d < best:
                    best, best_j = d, j
            hits += self.y[i] == self.y[best_j]
        self.history.append(hits / len(z))
        logs["purity"] = self.history[-1]


model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=64, epochs=30, verbose=2, callbacks=[NeighbourPurity(x, y), keras.callbacks.CSVLogger(tempfile.mktemp(suffix=".csv"))])

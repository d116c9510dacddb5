"""Latent ODE-style recurrent model for irregular vitals."""
import numpy as np
import keras
from keras import layers, ops

T, FEATS, HIDDEN = 20, 8, 48
SUBSTEPS = 3


class ODECell(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.f1 = layers.Dense(units, activation="tanh")
        self.f2 = layers.Dense(units)
        self.gate = layers.Dense(units, activation="sigmoid")
        self.cand = layers.Dense(units, activation="tanh")

    def call(self, h, x, dt):
        for _ in range(SUBSTEPS):
            h = h + dt / SUBSTEPS * self.f2(self.f1(h))
        z = ops.concatenate([h, x], axis=-1)
        g = self.gate(z)
        return g * h + (1 - g) * self.cand(z)


class VitalsModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.cell = ODECell(HIDDEN)
        self.head = layers.Dense(1, activation="sigmoid")

    def call(self, inputs):
        x, dt = inputs
        h = ops.zeros((ops.shape(x)[0], HIDDEN))
        for t in range(T):
            h = self.cell(h, x[:, t], dt[:, t:t + 1])
        return self.head(h)


def cohort(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, T, FEATS)).astype("float32")
    dt = rng.exponential(0.5, size=(n, T)).astype("float32")
    y = (x[:, :, 0].mean(1) > 0).astype("float32")[:, None]
    return (x, dt), y


if __name__ == "__main__":
    keras.utils.set_random_seed(9)
    inputs, y = cohort(448, 0)
    model = VitalsModel()
    model.compile(
        optimizer=keras.optimizers.Adam(2e-3),
        loss="binary_crossentropy",
        metrics=["accuracy"],
        run_eagerly=True,
    )
    model.fit(inputs, y, batch_size=64, epochs=8, verbose=2)

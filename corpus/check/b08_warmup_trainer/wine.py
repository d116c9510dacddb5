import keras
import numpy as np
from keras import layers


def make_wine(n=1500, seed=8):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 11)).astype("float32")
    y = x[:, 0] * 1.5 - x[:, 3] + 0.3 * x[:, 5] * x[:, 6] + rng.normal(0, 0.1, n)
    y = y.astype("float32")[:, None]
    cut = int(n * 0.8)
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


def build_regressor(n_features, hidden):
    model = keras.Sequential(name="wine")
    model.add(keras.Input((n_features,)))
    for units in hidden:
        model.add(layers.Dense(units, activation="relu", kernel_initializer="he_normal"))
    model.add(layers.Dense(1))
    return model

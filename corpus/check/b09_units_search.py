# EXPECT model-rebuilt-in-loop line=58
# NOTE nine models, one after the other, no clear_session: each stays in Keras's global state/graphs until the process ends
# SEEN ran (rc 0). Measured apart: RSS grows by about a model+optimizer (2 FuncGraphs) per round of build+fit, but in this TF/Keras it does so WITH clear_session too
"""Grid search over units and dropout for the energy model."""
import itertools

import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Model
from tensorflow.keras.callbacks import EarlyStopping
from tensorflow.keras.layers import Concatenate, Dense, Dropout, GRU
from tensorflow.keras.optimizers import RMSprop

tf.random.set_seed(0)
np.random.seed(0)

GRID = {"units": [8, 16, 32], "dropout": [0.0, 0.2, 0.4]}
WINDOW = 12


def series(n=700):
    t = np.arange(n)
    load = np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(2 * np.pi * t / 168)
    load = load + np.random.normal(0, 0.05, n)
    hour = (t % 24) / 24.0
    return load.astype("float32"), hour.astype("float32")


def windows(load, hour):
    xs, hs, ys = [], [], []
    for i in range(len(load) - WINDOW):
        xs.append(load[i:i + WINDOW, None])
        hs.append([hour[i + WINDOW]])
        ys.append(load[i + WINDOW])
    return np.stack(xs), np.array(hs, "float32"), np.array(ys, "float32")


def create_model(units, dropout):
    seq = Input((WINDOW, 1), name="load")
    hour = Input((1,), name="hour")
    h = GRU(units)(seq)
    h = Concatenate()([h, hour])
    h = Dropout(dropout)(h)
    out = Dense(1)(h)
    m = Model([seq, hour], out)
    m.compile(optimizer=RMSprop(2e-3), loss="mse")
    return m


load, hour = series()
X, H, Y = windows(load, hour)
n_train = int(0.8 * len(X))
train = ([X[:n_train], H[:n_train]], Y[:n_train])
valid = ([X[n_train:], H[n_train:]], Y[n_train:])

results = {}
for units, dropout in itertools.product(GRID["units"], GRID["dropout"]):
    model = create_model(units, dropout)
    hist = model.fit(
        *train,
        validation_data=valid,
        epochs=2,
        batch_size=64,
        verbose=0,
        callbacks=[EarlyStopping(patience=1)],
    )
    results[units, dropout] = min(hist.history["val_loss"])
    print(f"units={units:3d} dropout={dropout:.1f} -> {results[units, dropout]:.4f}")

best = min(results, key=results.get)
print("best parameters:", dict(zip(GRID, best)), "val_loss", results[best])

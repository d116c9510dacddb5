"""Three folds, a new model for each fold, compiled once per fold."""
import time

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

rng = np.random.default_rng(207)
X = rng.standard_normal((9000, 300)).astype(np.float32)
y = rng.integers(0, 6, 9000)


def make_model():
    m = keras.Sequential([
        layers.Input((300,)),
        layers.Dense(1200, activation="relu"),
        layers.Dense(1200, activation="relu"),
        layers.Dense(6, activation="softmax"),
    ])
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


folds = np.array_split(rng.permutation(len(X)), 3)
scores = []
t0 = time.perf_counter()
for k, held in enumerate(folds):
    rest = np.concatenate([f for j, f in enumerate(folds) if j != k])
    model = make_model()
    model.fit(X[rest], y[rest], batch_size=200, epochs=7, verbose=0)
    scores.append(model.evaluate(X[held], y[held], batch_size=500, verbose=0)[1])
    print(f"fold {k}: {scores[-1]:.3f}")
print(f"mean {np.mean(scores):.3f}; training took {time.perf_counter() - t0:.1f} s")

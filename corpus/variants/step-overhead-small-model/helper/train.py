# EXPECT cause=step-overhead-small-model file=train.py line=15
# WHY a 60-weight logistic model trained step by step, nearly all is framework overhead; make_scorer() compiles without steps_per_execution
"""Credit scoring card as a logistic regression in Keras."""
import time

import numpy as np
from tensorflow import keras


def make_scorer(n_features: int) -> keras.Model:
    m = keras.Sequential(name="scorecard")
    m.add(keras.Input((n_features,)))
    m.add(keras.layers.Dense(3, activation="tanh"))
    m.add(keras.layers.Dense(1, activation="sigmoid"))
    m.compile(optimizer=keras.optimizers.SGD(0.05), loss="binary_crossentropy", metrics=["accuracy"])
    return m


def applicants(n: int) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(4711)
    v = r.standard_normal((n, 19)).astype("float32")
    default = v[:, 0] - v[:, 3] + r.standard_normal(n) > 1
    return v, default.astype("float32")[:, None]


X, y = applicants(200_000)
card = make_scorer(X.shape[1])
start = time.time()
card.fit(X, y, batch_size=64, epochs=2, verbose=2)
print(f"training took {time.time() - start:.1f} s")

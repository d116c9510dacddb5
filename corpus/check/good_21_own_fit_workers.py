# EXPECT none
# NOTE .fit(workers=…) belongs to another object (own random forest stand-in), and an own function fit(); the Keras call takes only what its signature knows
# SEEN fine, exit 0; last line: net 0.574999988079071
import inspect
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from tensorflow import keras


class BaggedStumps:
    """A small ensemble, API in the style of scikit-learn."""

    def __init__(self, n=10):
        self.n = n

    def _one(self, args):
        x, y, seed = args
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, len(x), len(x))
        col = rng.integers(0, x.shape[1])
        cut = np.median(x[rows, col])
        return col, cut, y[rows][x[rows, col] > cut].mean() > 0.5

    def fit(self, x, y, workers=1, use_multiprocessing=False):
        jobs = [(x, y, s) for s in range(self.n)]
        with ThreadPoolExecutor(workers) as pool:
            self.stumps = list(pool.map(self._one, jobs))
        return self

    def predict(self, x, workers=1):
        votes = [((x[:, c] > cut) == up) for c, cut, up in self.stumps]
        return np.mean(votes, 0) > 0.5


def fit(model, x, y, workers=1, **options):
    """Calls model.fit with those options that the installed Keras understands."""
    options["workers"] = workers
    known = inspect.signature(model.fit).parameters
    return model.fit(x, y, **{k: v for k, v in options.items() if k in known})


rng = np.random.default_rng(0)
x = rng.normal(size=(200, 5)).astype("float32")
y = (x[:, 0] > 0).astype("float32")

model = BaggedStumps(15)
model.fit(x, y, workers=4, use_multiprocessing=False)
print("stumps", (model.predict(x, workers=2) == y).mean())

net = keras.Sequential([
    keras.Input((5,)),
    keras.layers.Dense(8, activation="relu"),
    keras.layers.Dense(1, activation="sigmoid"),
])
net.compile("adam", "binary_crossentropy", metrics=["accuracy"])
history = fit(net, x, y[:, None], workers=4, epochs=12, verbose=0, max_queue_size=10)
print("net", history.history["accuracy"][-1])

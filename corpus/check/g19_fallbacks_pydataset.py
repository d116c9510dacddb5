# EXPECT none
# NOTE except clauses in __getitem__/generators that are right: KeyError for a default, StopIteration to start again, record and re-raise, finally
# SEEN ran to the end (rc 0), no complaint of its own
"""Two-stream loader: labelled batches mixed with unlabelled ones (pseudo labels)."""
import math

import keras
import numpy as np
from keras import layers


class Mixed(keras.utils.PyDataset):
    def __init__(self, table, weights_by_source, extra, batch_size=16, **kwargs):
        super().__init__(**kwargs)
        self.table = table
        self.weights_by_source = weights_by_source
        self.extra_pool = extra
        self.extra = iter(extra)
        self.batch_size = batch_size
        self.failed = []

    def __len__(self):
        return math.ceil(len(self.table["x"]) / self.batch_size)

    def _weight(self, source):
        try:
            return self.weights_by_source[source]
        except KeyError:
            return 1.0

    def _next_extra(self):
        try:
            return next(self.extra)
        except StopIteration:
            self.extra = iter(self.extra_pool)
            return next(self.extra)

    def __getitem__(self, i):
        part = slice(i * self.batch_size, (i + 1) * self.batch_size)
        try:
            x = self.table["x"][part]
            y = self.table["y"][part]
            w = np.array([self._weight(s) for s in self.table["source"][part]], dtype="float32")
            ex, ey = self._next_extra()
            x = np.concatenate([x, ex[None]])
            y = np.append(y, ey)
            w = np.append(w, 0.2)
        except Exception as err:
            self.failed.append((i, repr(err)))
            raise
        return x, y, w


def parse_rows(lines):
    """Header lines are no numbers; anything else that is wrong must be seen."""
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        try:
            *feats, label, source = line.split(";")
            yield [float(f) for f in feats], int(label), source
        except ValueError as err:
            raise ValueError(f"line {number}: {line!r}") from err


def make_lines(n=400):
    rng = np.random.default_rng(5)
    yield "# f0;f1;f2;f3;label;source"
    for _ in range(n):
        f = rng.normal(size=4)
        src = rng.choice(["lab", "web", "user"])
        yield ";".join(f"{v:.4f}" for v in f) + f";{int(f.sum() > 0)};{src}"


if __name__ == "__main__":
    keras.utils.set_random_seed(5)
    xs, ys, sources = zip(*parse_rows(make_lines()))
    table = {"x": np.array(xs, "float32"), "y": np.array(ys, "float32"), "source": list(sources)}
    rng = np.random.default_rng(6)
    extra = [(v, float(v.sum() > 0)) for v in rng.normal(size=(7, 4)).astype("float32")]

    data = Mixed(table, {"lab": 1.0, "web": 0.5}, extra)
    model = keras.Sequential([
        keras.Input((4,)),
        layers.Dense(8, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ])
    model.compile(optimizer="adam", loss="binary_crossentropy", weighted_metrics=["accuracy"])
    model.fit(data, epochs=2, verbose=2)
    print("failed batches:", data.failed)

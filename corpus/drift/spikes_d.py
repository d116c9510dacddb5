# EXPECT cause=spikes file=train.py line=23
# NOTE a new csv part of irregular size is parsed in the generator about every 100 batches
import glob
import os
import tempfile
import numpy as np
import keras


def prepare(folder, shards=8, dim=400, seed=0):
    g = np.random.default_rng(seed)
    for s in range(shards):
        rows = int(g.integers(2500, 6000))
        table = g.integers(0, 8, size=(rows, dim))
        with open(os.path.join(folder, f"part-{s:02d}.csv"), "w") as f:
            f.writelines(",".join(map(str, row)) + "\n" for row in table.tolist())


def read_forever(folder, bs):
    parts = sorted(glob.glob(os.path.join(folder, "part-*.csv")))
    while True:
        for p in parts:
            x = np.loadtxt(p, delimiter=",", dtype="float32")
            y = x[:, :4].sum(axis=1)
            for a in range(0, len(x) - bs + 1, bs):
                yield x[a:a + bs], y[a:a + bs]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tmp:
        prepare(tmp)
        net = keras.Sequential([keras.Input((400,)),
                                keras.layers.Rescaling(1 / 8.0),
                                keras.layers.Dense(384, activation="relu"),
                                keras.layers.Dense(384, activation="relu"),
                                keras.layers.Dense(1)])
        net.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
        src = read_forever(tmp, 40)
        total = 0.0
        for i in range(8000):
            xb, yb = next(src)
            total += float(net.train_on_batch(xb, yb))
            if (i + 1) % 500 == 0:
                print("iter", i + 1, "mean loss", total / 500)
                total = 0.0

"""The same workers: what the script does is guarded, and they import its functions only."""

import multiprocessing

import numpy as np


def load(number):
    return np.random.default_rng(number).standard_normal(64).astype("float32")


def main():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        rows = np.stack(pool.map(load, range(256)))

    import keras  # the workers do without it

    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(32), keras.layers.Dense(1)])
    model.compile("adam", loss="mse")
    model.fit(rows, rows.sum(axis=1), epochs=2, verbose=2)


if __name__ == "__main__":
    main()

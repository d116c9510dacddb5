"""Fraud-like imbalance: class_weight, several metrics, checkpoint of the best epoch, early stopping."""
import argparse
import os
import tempfile
import time

import numpy as np
import keras


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--epochs", type=int, default=9)
    p.add_argument("--batch", type=int, default=512)
    return p.parse_args()


def main():
    args = parse()
    rng = np.random.default_rng(205)
    x = rng.standard_normal((24000, 120)).astype("float32")
    y = (x[:, :5].sum(1) > 4.5).astype("float32")[:, None]
    cut = 20000
    model = keras.Sequential([
        keras.Input((120,)),
        keras.layers.Dense(768, activation="relu"), keras.layers.Dropout(0.3),
        keras.layers.Dense(768, activation="relu"), keras.layers.Dropout(0.3),
        keras.layers.Dense(768, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ])
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=keras.losses.BinaryCrossentropy(),
                  metrics=["accuracy", keras.metrics.Precision(name="prec"), keras.metrics.Recall(name="rec")])
    best = os.path.join(tempfile.mkdtemp(), "best.keras")
    t0 = time.perf_counter()
    model.fit(x[:cut], y[:cut], validation_data=(x[cut:], y[cut:]), batch_size=args.batch, epochs=args.epochs, verbose=2,
              class_weight={0: 0.6, 1: 4.0},
              callbacks=[keras.callbacks.ModelCheckpoint(best, save_best_only=True, monitor="val_loss"),
                         keras.callbacks.EarlyStopping(patience=10, restore_best_weights=True)])
    print(f"training took {time.perf_counter() - t0:.1f} s")


if __name__ == "__main__":
    main()

# EXPECT: WorstErrors.on_epoch_end loops over the validation samples and calls self.model.predict for each one alone; the callback takes most of the epoch time
# TWIST: none
"""House price toy regression with a callback that reports the worst validation errors."""
import csv
import os
from pathlib import Path

import keras
import numpy as np


CSV_PATH = Path(__file__).resolve().parent / "data" / "30_callback_predict" / "houses.csv"
FEATURES = ["area", "rooms", "age", "distance", "floor"]


def write_csv(path: Path, rows: int = 1300) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(66)
    with path.open("w", newline="", encoding="utf-8") as fh:
        writer = csv.DictWriter(fh, fieldnames=["id"] + FEATURES + ["price"])
        writer.writeheader()
        for i in range(rows):
            area, rooms = rng.uniform(30, 200), int(rng.integers(1, 7))
            age, dist, floor = int(rng.integers(0, 90)), rng.exponential(8), int(rng.integers(0, 9))
            price = 2.1 * area + 9 * rooms - 0.6 * age - 3.5 * dist + 1.2 * floor + rng.normal(0, 12)
            writer.writerow(dict(id=f"H{i:04d}", area=round(area, 1), rooms=rooms, age=age, distance=round(dist, 2), floor=floor, price=round(price, 1)))


def read_csv(path: Path):
    with path.open(encoding="utf-8") as fh:
        rows = list(csv.DictReader(fh))
    ids = [r["id"] for r in rows]
    x = np.array([[float(r[f]) for f in FEATURES] for r in rows], dtype="float32")
    y = np.array([float(r["price"]) for r in rows], dtype="float32")
    return ids, x, y


class WorstErrors(keras.callbacks.Callback):
    """Prints the three houses the model is most wrong about."""

    def __init__(self, ids, x, y, top=3):
        super().__init__()
        self.ids, self.x, self.y, self.top = ids, x, y, top
        self.mae_per_epoch = []

    def on_epoch_end(self, epoch, logs=None):
        errors = []
        for house, features, price in zip(self.ids, self.x, self.y):
            guess = self.model.predict(np.expand_dims(features, 0), verbose=0)[0][0]
            errors.append((abs(float(guess) - float(price)), house))
        self.mae_per_epoch.append(np.mean([e for e, _ in errors]))
        errors.sort(reverse=True)
        worst = ", ".join(f"{h} ({e:.1f})" for e, h in errors[: self.top])
        print(f"\n   val MAE {self.mae_per_epoch[-1]:.2f}   worst: {worst}")


def main():
    keras.utils.set_random_seed(5)
    if not CSV_PATH.exists():
        write_csv(CSV_PATH)
    ids, x, y = read_csv(CSV_PATH)
    split = 1250
    normalizer = keras.layers.Normalization()
    normalizer.adapt(x[:split])
    model = keras.Sequential([
        keras.Input((len(FEATURES),)),
        normalizer,
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1),
    ])
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse", metrics=["mae"])
    worst = WorstErrors(ids[split:], x[split:], y[split:])
    model.fit(x[:split], y[:split], batch_size=32, epochs=5, callbacks=[worst])
    print("validation MAE by epoch:", [round(float(v), 2) for v in worst.mae_per_epoch])


if __name__ == "__main__":
    main()

"""Hourly demand regression from a CSV export. Quick baseline for the leaderboard."""
import csv
import datetime as dt
import math
import os
import random
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras

random.seed(7)
np.random.seed(7)
keras.utils.set_random_seed(7)

WORK = tempfile.mkdtemp(prefix="demand_")
CSV = os.path.join(WORK, "train.csv")
N_ROWS = 16000
BATCH = 256
EPOCHS = 3

SITES = ["north", "south", "east", "west", "centre"]
WEATHER = ["clear", "cloudy", "rain", "snow", "fog"]


def write_csv():
    start = dt.datetime(2021, 1, 1)
    temp = 12 + 9 * np.sin(np.arange(N_ROWS) / 24 / 58) + np.random.randn(N_ROWS)
    with open(CSV, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["timestamp", "site", "weather", "temp", "wind", "holiday", "demand"])
        for i in range(N_ROWS):
            t = start + dt.timedelta(hours=i)
            y = 50 + 10 * math.sin(t.hour / 24 * 6.28) - 0.8 * temp[i] + random.gauss(0, 1)
            w.writerow([t.strftime("%Y-%m-%d %H:%M:%S"), random.choice(SITES),
                        random.choice(WEATHER), f"{temp[i]:.3f}",
                        f"{random.random() * 20:.2f}", int(t.weekday() == 6), f"{y:.4f}"])


def row_to_features(row):
    t = dt.datetime.strptime(row["timestamp"], "%Y-%m-%d %H:%M:%S")
    feats = []
    for period, value in ((24, t.hour), (7, t.weekday()), (12, t.month), (366, t.timetuple().tm_yday)):
        feats.append(math.sin(2 * math.pi * value / period))
        feats.append(math.cos(2 * math.pi * value / period))
    feats += [1.0 if row["site"] == s else 0.0 for s in SITES]
    feats += [1.0 if row["weather"] == s else 0.0 for s in WEATHER]
    feats.append((float(row["temp"]) - 12.0) / 9.0)
    feats.append(float(row["wind"]) / 20.0)
    feats.append(float(row["holiday"]))
    return np.array(feats, dtype="float32"), np.float32((float(row["demand"]) - 40) / 10)


def rows():
    with open(CSV) as f:
        for row in csv.DictReader(f):
            yield row_to_features(row)


write_csv()
N_FEATS = 8 + len(SITES) + len(WEATHER) + 3

ds = tf.data.Dataset.from_generator(
    rows,
    output_signature=(tf.TensorSpec((N_FEATS,), tf.float32), tf.TensorSpec((), tf.float32)),
)
ds = ds.shuffle(2048, seed=1).batch(BATCH).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential([
    keras.layers.Input((N_FEATS,)),
    keras.layers.Dense(128, activation="relu"),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
history = model.fit(ds, epochs=EPOCHS, verbose=2)
print("final mae", history.history["mae"][-1])

"""Several callbacks, all cheap: per-batch counter, per-epoch best checkpoint, CSV log, LR schedule."""
import os
import tempfile
import time

import numpy as np
import keras

work = tempfile.mkdtemp()
rng = np.random.default_rng(13)
x = rng.normal(size=(12000, 400)).astype("float32")
y = rng.normal(size=(12000, 10)).astype("float32")


class Counter(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1


def decay(epoch, lr):
    return lr * 0.9


model = keras.Sequential([
    keras.Input((400,)),
    keras.layers.Dense(1200, activation="relu"),
    keras.layers.Dense(1200, activation="relu"),
    keras.layers.Dense(10),
])
model.compile(keras.optimizers.Adam(5e-4), "mse", metrics=["mae"])
counter = Counter()
t0 = time.perf_counter()
model.fit(x, y, batch_size=250, epochs=5, validation_split=0.1, verbose=2, callbacks=[
    counter,
    keras.callbacks.LearningRateScheduler(decay),
    keras.callbacks.ModelCheckpoint(os.path.join(work, "best.weights.h5"), save_weights_only=True, save_best_only=True),
    keras.callbacks.CSVLogger(os.path.join(work, "log.csv")),
    keras.callbacks.TerminateOnNaN(),
])
print(f"{counter.seen} batches; training took {time.perf_counter() - t0:.1f} s")

# EXPECT steps-with-finite-pydataset line=57
# NOTE __len__ rounds up (21), the steps round down (20): the one left-over batch becomes an "epoch" of its own, so every second epoch has 1 batch
# SEEN runs; batches per epoch 20, 1, 20, 1, 20, 1 with "Your input ran out of data". Keras 3.15.1: steps == len gives no empty epoch, see good_39
import math

import keras
import numpy as np
from keras import layers


class Windows(keras.utils.PyDataset):
    """Batches of sliding windows over a long series."""

    def __init__(self, series, width=16, batch_size=16, **kwargs):
        super().__init__(**kwargs)
        self.series, self.width, self.batch_size = series, width, batch_size
        self.starts = np.arange(len(series) - width)

    def __len__(self):
        return math.ceil(len(self.starts) / self.batch_size)

    def __getitem__(self, i):
        s = self.starts[i * self.batch_size:(i + 1) * self.batch_size]
        x = np.stack([self.series[a:a + self.width] for a in s])[..., None]
        y = np.array([self.series[a + self.width] for a in s])[:, None]
        return x.astype("float32"), y.astype("float32")

    def on_epoch_end(self):
        np.random.shuffle(self.starts)


class Count(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.n = 0

    def on_train_batch_end(self, batch, logs=None):
        self.n += 1

    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch}: {self.n} batches, logs {logs}")


BATCH = 16
t = np.arange(341)
series = np.sin(t / 9) + 0.05 * np.random.default_rng(0).normal(size=len(t))
data = Windows(series, batch_size=BATCH)
print(len(data), "batches per pass")

model = keras.Sequential([
    layers.Input((16, 1)),
    layers.Conv1D(8, 3, activation="relu"),
    layers.GlobalAveragePooling1D(),
    layers.Dense(1),
])
model.compile("adam", "mse")
steps = len(data.starts) // BATCH
model.fit(data, epochs=6, steps_per_epoch=steps, callbacks=[Count()], verbose=0)

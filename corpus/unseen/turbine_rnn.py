"""Forecast turbine output; windows are drawn by a generator because the full set would not fit."""
import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(30)

LOOKBACK, CHANNELS, BATCH, STEPS, EPOCHS = 72, 16, 64, 24, 8


def recordings(n=60000):
    rng = np.random.default_rng(30)
    t = np.arange(n, dtype="float32")[:, None]
    phase = rng.random((1, CHANNELS)) * 6
    return (np.sin(t / rng.uniform(20, 90, (1, CHANNELS)) + phase)
            + 0.1 * rng.standard_normal((n, CHANNELS))).astype("float32")


class WindowSampler:
    def __init__(self, data, seed):
        self.data = data
        self.rng = np.random.default_rng(seed)
        self.offsets = np.arange(LOOKBACK)

    def __call__(self):
        top = len(self.data) - LOOKBACK - 1
        while True:
            start = self.rng.integers(0, top, BATCH)
            yield self.data[start[:, None] + self.offsets], self.data[start + LOOKBACK, :1]


def dataset(data, seed):
    sig = (tf.TensorSpec((BATCH, LOOKBACK, CHANNELS), tf.float32), tf.TensorSpec((BATCH, 1), tf.float32))
    return tf.data.Dataset.from_generator(WindowSampler(data, seed), output_signature=sig).prefetch(4)


data = recordings()
train, valid = data[:50000], data[50000:]
model = keras.Sequential([
    keras.layers.Input((LOOKBACK, CHANNELS)),
    keras.layers.LSTM(96, return_sequences=True),
    keras.layers.LSTM(96),
    keras.layers.Dense(1),
])
model.compile(keras.optimizers.Adam(2e-3), "mse")
model.fit(dataset(train, 0), steps_per_epoch=STEPS, epochs=EPOCHS,
          validation_data=next(WindowSampler(valid, 1)()), verbose=2)

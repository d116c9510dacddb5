# forecasting temperature with an LSTM (sliding windows made by keras)
import numpy as np
import keras
from keras import layers

SEQ, FEATURES = 72, 7
t = np.arange(6000)
rng = np.random.default_rng(0)
series = np.stack([np.sin(2 * np.pi * t / (24 * (k + 1))) for k in range(FEATURES)], axis=1)
series = (series + rng.normal(0, 0.1, series.shape)).astype("float32")

train = keras.utils.timeseries_dataset_from_array(
    series[:-SEQ], series[SEQ:, 0], sequence_length=SEQ, batch_size=128, shuffle=True, seed=0
)

model = keras.Sequential([
    layers.Input((SEQ, FEATURES)),
    layers.LSTM(160, return_sequences=True),
    layers.LSTM(96),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
model.fit(train, epochs=2)

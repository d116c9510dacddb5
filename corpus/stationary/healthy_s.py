# EXPECT none
# NOTE time series forecast with timeseries_dataset_from_array and Conv1D + GRU
import keras
import numpy as np

PAST, BATCH = 6, 32


def series(n):
    t = np.arange(n)
    s = np.stack([np.sin(t / 24), np.cos(t / 168), np.random.default_rng(0).normal(size=n) * 0.1], axis=1)
    return s.astype("float32")


def windows(s):
    return keras.utils.timeseries_dataset_from_array(s[:-PAST], targets=s[PAST:, 0], sequence_length=PAST,
                                                     batch_size=BATCH, shuffle=True, seed=1)


def main():
    s = series(16000)
    train, val = windows(s[:14000]), windows(s[14000:])
    model = keras.Sequential([
        keras.Input((PAST, 3)),
        keras.layers.Conv1D(24, 3, padding="causal", activation="relu"),
        keras.layers.GRU(24),
        keras.layers.Dense(1),
    ])
    model.compile(loss="mse", optimizer=keras.optimizers.Adam(1e-3))
    model.fit(train, validation_data=val, epochs=10, verbose=2,
              callbacks=[keras.callbacks.EarlyStopping(patience=15)])


main()

# EXPECT none
# NOTE python generator with a fixed amount of work per batch
import numpy as np
import keras


def spectrogram_gen(bs, seed):
    g = np.random.default_rng(seed)
    t = np.linspace(0, 1, 128, dtype="float32")
    while True:
        f = g.uniform(2, 30, size=(bs, 1))
        wave = np.sin(2 * np.pi * f * t) + 0.3 * g.normal(size=(bs, 128))
        spec = np.abs(np.fft.rfft(wave, axis=1)).astype("float32")
        yield spec, (f / 30).astype("float32")


inp = keras.Input((65,))
z = keras.layers.Dense(448, activation="relu")(inp)
z = keras.layers.Dense(448, activation="relu")(z)
z = keras.layers.Dense(1)(z)
model = keras.Model(inp, z)
model.compile(loss="mae", optimizer=keras.optimizers.Adam(1e-3))
model.fit(spectrogram_gen(64, 0), steps_per_epoch=700, epochs=10,
          validation_data=spectrogram_gen(64, 1), validation_steps=20, verbose=2)

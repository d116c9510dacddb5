import tempfile
import numpy as np
import keras
from keras import layers

t = np.linspace(0, 1, 2000, dtype="float32")
rng = np.random.default_rng(6)
freq = rng.integers(5, 60, 1500)
wave = np.sin(2 * np.pi * freq[:, None] * t) + rng.normal(0, 0.5, (1500, 2000))
spec = np.abs(np.fft.rfft(wave.reshape(1500, 20, 100), axis=-1)).astype("float32")
spec = (spec - spec.mean()) / spec.std()

m = keras.Sequential([layers.Input((20, 51)), layers.Conv1D(256, 5, padding="same", activation="relu"), layers.Conv1D(256, 5, padding="same", activation="relu"),
                      layers.Conv1D(256, 5, padding="same", activation="relu"), layers.GlobalAveragePooling1D(), layers.Dense(1)])
m.compile("adam", "mae")
m.fit(spec, freq.astype("float32"), batch_size=64, epochs=6, validation_split=0.2, verbose=2, callbacks=[keras.callbacks.TensorBoard(tempfile.mkdtemp())])
m.save(tempfile.mktemp(suffix=".keras"))

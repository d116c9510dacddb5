"""LSTM sentiment model on padded token ids (IMDB style)."""
import time

import numpy as np
import keras
from keras import layers

MAXLEN, VOCAB = 80, 10000
rng = np.random.default_rng(4)
seqs = [rng.integers(1, VOCAB, size=rng.integers(20, 200)).tolist() for _ in range(2560)]
x = keras.utils.pad_sequences(seqs, maxlen=MAXLEN)
y = rng.integers(0, 2, 2560)

model = keras.Sequential([
    layers.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(VOCAB, 64, mask_zero=True),
    layers.LSTM(128),
    layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
t0 = time.perf_counter()
model.fit(x, y, batch_size=64, epochs=3, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

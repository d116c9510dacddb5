# EXPECT cause=predict-in-loop file=train.py line=24
# WHY write_verse() asks predict() for each single character after every epoch
"""Character-level text generation, the usual tutorial with a sample after each epoch."""
import time

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

text = ("the rain in the north falls on the stone and the stone keeps the cold of the rain " * 40).lower()
chars = sorted(set(text))
char_to_id = {c: i for i, c in enumerate(chars)}
maxlen = 24

ids = np.array([char_to_id[c] for c in text])
x = np.stack([ids[i:i + maxlen] for i in range(0, len(ids) - maxlen, 2)])
y = ids[maxlen::2][: len(x)]


def write_verse(model, seed, length=28, temperature=0.8):
    out = seed
    for _ in range(length):
        window = np.array([[char_to_id[c] for c in out[-maxlen:]]])
        probs = model.predict(window, verbose=0)[0]
        logits = np.log(probs + 1e-9) / temperature
        p = np.exp(logits) / np.exp(logits).sum()
        out += chars[np.random.choice(len(chars), p=p)]
    return out[len(seed):]


class Poet(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        start = np.random.randint(0, len(text) - maxlen)
        print(f"-- {epoch}:", write_verse(self.model, text[start:start + maxlen]))


model = keras.Sequential([
    keras.Input((maxlen,), dtype="int32"),
    layers.Embedding(len(chars), 12),
    layers.Conv1D(32, 5, activation="relu"),
    layers.Flatten(),
    layers.Dense(len(chars), activation="softmax"),
])
model.compile(loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.RMSprop(1e-3))
t0 = time.time()
model.fit(x, y, batch_size=64, epochs=5, callbacks=[Poet()], verbose=2)
print(f"training took {time.time() - t0:.1f} s")

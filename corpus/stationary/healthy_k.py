# EXPECT none
# NOTE Embedding and LSTM on texts padded to one fixed length
import numpy as np
from tensorflow.keras import layers, models

MAXLEN, VOCAB = 20, 3000
rng = np.random.RandomState(0)
raw = [rng.randint(1, VOCAB, rng.randint(5, 40)) for _ in range(12800)]


def pad(seqs, maxlen):
    out = np.zeros((len(seqs), maxlen), dtype="int32")
    for i, s in enumerate(seqs):
        s = s[-maxlen:]
        out[i, -len(s):] = s
    return out


X = pad(raw, MAXLEN)
y = (X[:, -1] > VOCAB // 2).astype("int32")

model = models.Sequential([
    layers.Input((MAXLEN,)),
    layers.Embedding(VOCAB, 24),
    layers.LSTM(24),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(loss="binary_crossentropy", optimizer="rmsprop", metrics=["accuracy"])
model.summary()
model.fit(X, y, batch_size=32, epochs=16, verbose=2)

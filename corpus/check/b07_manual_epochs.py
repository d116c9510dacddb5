# EXPECT fit-or-compile-in-loop line=60
# NOTE fit(epochs=1) of one and the same model in a loop over epochs: callbacks, history and the iterators start anew each time (EarlyStopping can never act)
# SEEN ran (rc 0), four fits of one epoch
import math
import os
import tempfile

import numpy as np
from keras.callbacks import CSVLogger
from keras.layers import Dense, Dropout, Embedding, GlobalAveragePooling1D, Input
from keras.models import Sequential
from keras.utils import set_random_seed, pad_sequences

set_random_seed(99)

VOCAB = 200
MAXLEN = 20
EPOCHS = 4

# ---------------------------------------------------------------- fake reviews
rng = np.random.default_rng(99)
good_words = np.arange(2, 60)
bad_words = np.arange(60, 120)
other = np.arange(120, VOCAB)


def review(label):
    n = int(rng.integers(6, MAXLEN))
    own = good_words if label else bad_words
    k = max(1, math.ceil(n * 0.4))
    words = np.concatenate([rng.choice(own, k), rng.choice(other, n - k)])
    rng.shuffle(words)
    return words.tolist()


labels = rng.integers(0, 2, 1200)
texts = [review(l) for l in labels]
X = pad_sequences(texts, maxlen=MAXLEN, padding="post")
y = labels.astype("float32")
X_train, X_val = X[:1000], X[1000:]
y_train, y_val = y[:1000], y[1000:]

# ---------------------------------------------------------------- model
model = Sequential([
    Input((MAXLEN,)),
    Embedding(VOCAB, 16),
    GlobalAveragePooling1D(),
    Dropout(0.2),
    Dense(16, activation="relu"),
    Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.summary()

# ---------------------------------------------------------------- training
logfile = os.path.join(tempfile.mkdtemp(), "log.csv")
best, best_epoch = 0.0, -1
for epoch in range(EPOCHS):
    print("Epoch", epoch + 1, "of", EPOCHS)
    h = model.fit(X_train, y_train, batch_size=32, epochs=1, verbose=0,
                  validation_data=(X_val, y_val),
                  callbacks=[CSVLogger(logfile, append=True)])
    acc = h.history["val_accuracy"][0]
    print("  loss %.4f  val_acc %.4f" % (h.history["loss"][0], acc))
    if acc > best:
        best, best_epoch = acc, epoch
        model.save_weights(os.path.join(os.path.dirname(logfile), "best.weights.h5"))

print("best epoch", best_epoch + 1, "accuracy", round(best, 4))

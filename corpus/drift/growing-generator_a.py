# EXPECT cause=growing-generator file=train.py line=21
# NOTE generator draws without replacement and looks each index up in a list of all used indices
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import random
import numpy as np
import tensorflow as tf

random.seed(1)
N = 200_000
FEATS = np.random.RandomState(1).randn(N, 32).astype(np.float32)
LABELS = (FEATS[:, 0] * FEATS[:, 1] > 0).astype(np.float32)


def sample_batches(feats, labels, bs):
    used = []
    while True:
        picked = []
        while len(picked) < bs:
            i = random.randrange(len(feats))
            if i in used:
                continue
            used.append(i)
            picked.append(i)
        yield feats[picked], labels[picked]


net = tf.keras.models.Sequential()
net.add(tf.keras.layers.Input(shape=(32,)))
net.add(tf.keras.layers.Dense(256, activation="relu"))
net.add(tf.keras.layers.Dropout(0.2))
net.add(tf.keras.layers.Dense(128, activation="relu"))
net.add(tf.keras.layers.Dense(1, activation="sigmoid"))
net.compile(loss="binary_crossentropy", optimizer="rmsprop", metrics=["accuracy"])

hist = net.fit(sample_batches(FEATS, LABELS, 16), steps_per_epoch=500, epochs=9, verbose=2)
print(hist.history["loss"])

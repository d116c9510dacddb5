# EXPECT cause=growing-callback file=train.py line=30
# NOTE student script: the callback rewrites the whole json history file after every batch
import json
import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

np.random.seed(0)
X = np.random.rand(16000, 64).astype("float32")
y = (X[:, :8].sum(axis=1) > 4).astype("int32")


class LiveLog(keras.callbacks.Callback):
    """saves the loss of every batch so that I can look at it while training"""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.rows = []

    def on_train_batch_end(self, batch, logs=None):
        self.rows.append({"batch": int(batch),
                          "loss": float(logs["loss"]),
                          "acc": float(logs["accuracy"])})
        with open(self.path, "w") as f:
            f.write(json.dumps(self.rows))


model = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(256, activation="relu"),
    layers.Dense(256, activation="relu"),
    layers.Dense(2, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])

out = os.path.join(tempfile.mkdtemp(), "live.json")
model.fit(X, y, batch_size=32, epochs=11, verbose=2, callbacks=[LiveLog(out)])
print("log written to", out)

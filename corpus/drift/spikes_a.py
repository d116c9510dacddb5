# EXPECT cause=spikes|checkpoint-too-often file=train.py line=18
# NOTE a callback saves the whole model (a big embedding) every 100 batches
import os
import tempfile
import numpy as np
import keras
from keras import layers


class SaveEveryN(keras.callbacks.Callback):
    def __init__(self, folder, n=100):
        super().__init__()
        self.folder, self.n, self.seen = folder, n, 0

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        if self.seen % self.n == 0:
            self.model.save(os.path.join(self.folder, "latest.keras"))


users = keras.Input((1,), dtype="int32")
items = keras.Input((1,), dtype="int32")
u = layers.Flatten()(layers.Embedding(60000, 48)(users))
v = layers.Flatten()(layers.Embedding(30000, 48)(items))
h = layers.Dense(512, activation="relu")(layers.Concatenate()([u, v]))
h = layers.Dense(512, activation="relu")(h)
model = keras.Model([users, items], layers.Dense(1)(h))
model.compile(optimizer="sgd", loss="mse")

n = 160_000
rs = np.random.RandomState(0)
U = rs.randint(0, 60000, (n, 1))
I = rs.randint(0, 30000, (n, 1))
R = rs.randint(1, 6, (n, 1)).astype("float32")

model.fit([U, I], R, batch_size=64, epochs=2, verbose=2,
          callbacks=[SaveEveryN(tempfile.mkdtemp())])

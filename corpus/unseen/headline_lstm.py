import math
import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(8)
V, T = 4000, 60
tokens = rng.zipf(1.3, (6400, T)).clip(1, V - 1).astype("int32")
topic = (tokens % 7 == 0).sum(1).clip(0, 9)


class Headlines(keras.utils.PyDataset):
    def __init__(self, x, y, batch, **kw):
        super().__init__(**kw)
        self.x, self.y, self.b = x, y, batch
        self.order = np.arange(len(x))

    def __len__(self):
        return math.ceil(len(self.x) / self.b)

    def __getitem__(self, i):
        j = self.order[i * self.b:(i + 1) * self.b]
        return self.x[j], self.y[j]

    def on_epoch_end(self):
        np.random.shuffle(self.order)


m = keras.Sequential([layers.Input((T,), dtype="int32"), layers.Embedding(V, 64), layers.LSTM(96, return_sequences=True), layers.LSTM(96), layers.Dense(10, activation="softmax")])
m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
m.fit(Headlines(tokens[:5632], topic[:5632], 128, workers=2), validation_data=Headlines(tokens[5632:], topic[5632:], 128), epochs=2, verbose=2)

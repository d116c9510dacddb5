# EXPECT none
# NOTE steps_per_epoch equals len() of the finite PyDataset, or half of it (two "epochs" per pass): Keras 3.15 starts the iterator anew, no epoch is empty or short
# SEEN fine, exit 0; last line: 2 [5, 5, 5, 5]
import math

import numpy as np
from tensorflow import keras


class Rows(keras.utils.Sequence):
    def __init__(self, x, y, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.x, self.y, self.batch_size = x, y, batch_size

    def __len__(self):
        return math.ceil(len(self.x) / self.batch_size)

    def __getitem__(self, i):
        rows = slice(i * self.batch_size, (i + 1) * self.batch_size)
        return self.x[rows], self.y[rows]


class Count(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.counts = []

    def on_epoch_begin(self, epoch, logs=None):
        self.counts.append(0)

    def on_train_batch_end(self, batch, logs=None):
        self.counts[-1] += 1


def regressor():
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(12, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model


rng = np.random.default_rng(0)
x = rng.normal(size=(160, 6)).astype("float32")
y = x[:, :1] * x[:, 1:2]

for divisor in (1, 2):
    data = Rows(x, y, 16)
    count = Count()
    regressor().fit(data, steps_per_epoch=len(data) // divisor, epochs=4, callbacks=[count], verbose=0)
    print(divisor, count.counts)
    assert count.counts == [10 // divisor] * 4

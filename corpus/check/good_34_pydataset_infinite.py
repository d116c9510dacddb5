# EXPECT none
# NOTE the PyDataset of the first fit has num_batches None (infinite), so steps_per_epoch is needed; the second fit gives a finite one without steps_per_epoch; validation_steps cuts a finite validation set, which starts anew each time
# SEEN fine, exit 0; last line: [10, 10, 10, 10] [10, 10, 10, 10]
import keras
import numpy as np


class Endless(keras.utils.PyDataset):
    def __init__(self, x, y, n, **kwargs):
        super().__init__(**kwargs)
        self.x, self.y, self.n = x, y, n

    @property
    def num_batches(self):
        return None

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        rows = rng.integers(0, len(self.x), self.n)
        return self.x[rows], self.y[rows]


class Finite(Endless):
    @property
    def num_batches(self):
        return len(self.x) // self.n

    def __getitem__(self, index):
        rows = slice(index * self.n, (index + 1) * self.n)
        return self.x[rows], self.y[rows]


class Count(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.counts = []

    def on_epoch_begin(self, epoch, logs=None):
        self.counts.append(0)

    def on_train_batch_end(self, batch, logs=None):
        self.counts[-1] += 1


rng = np.random.default_rng(0)
x = rng.normal(size=(160, 4)).astype("float32")
y = x.sum(1, keepdims=True)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.05), "mse")

first, second = Count(), Count()
model.fit(Endless(x, y, 16), steps_per_epoch=10, epochs=4, verbose=0, callbacks=[first])
model.fit(Finite(x, y, 16), epochs=4, verbose=0, callbacks=[second],
          validation_data=Finite(x[:64], y[:64], 16), validation_steps=2)
print(first.counts, second.counts)
assert first.counts == second.counts == [10] * 4

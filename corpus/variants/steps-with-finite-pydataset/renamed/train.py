# EXPECT cause=steps-with-finite-pydataset file=train.py line=29
# WHY 150 steps are asked of 100 batches, so epochs run out of data
import time

import numpy as np
import keras



class Batches(keras.utils.PyDataset):
    def __init__(self, x, y, size, **kw):
        super().__init__(**kw)
        self.x, self.y, self.size = x, y, size

    def __len__(self):
        return len(self.x) // self.size

    def __getitem__(self, i):
        s = slice(i * self.size, (i + 1) * self.size)
        return self.x[s], self.y[s]


rng = np.random.default_rng(37)
x = rng.normal(size=(6400, 256)).astype("float32")
data = Batches(x, x[:, :1], 64)
model = keras.Sequential([keras.Input((256,)), keras.layers.Dense(1024, activation="relu"), keras.layers.Dense(1024, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
t0 = time.perf_counter()
history = model.fit(data, steps_per_epoch=150, epochs=8, verbose=2)
print("losses", history.history["loss"])
print(f"training took {time.perf_counter() - t0:.1f} s")

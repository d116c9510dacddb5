"""PyDataset with worker threads: each batch needs some CPU work and a little waiting, hidden behind the step."""
import time

import numpy as np
import keras
from keras import layers


class Patches(keras.utils.PyDataset):
    def __init__(self, n, batch, **kwargs):
        super().__init__(**kwargs)
        self.n, self.batch = n, batch
        self.base = np.random.default_rng(11).random((256, 40, 40, 3), dtype=np.float32)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        time.sleep(0.02)  # the storage answers after 20 ms
        r = np.random.default_rng(i)
        idx = r.integers(0, 256, self.batch)
        dy, dx = r.integers(0, 8, 2)
        x = self.base[idx, dy:dy + 32, dx:dx + 32]
        return x, x.mean((1, 2, 3), keepdims=False)[:, None]


data = Patches(24, 64, workers=4, max_queue_size=10)
model = keras.Sequential([
    layers.Input((32, 32, 3)),
    layers.Conv2D(48, 3, activation="relu"), layers.Conv2D(48, 3, activation="relu"), layers.MaxPooling2D(),
    layers.Conv2D(64, 3, activation="relu"), layers.GlobalAveragePooling2D(), layers.Dense(1),
])
model.compile("adam", "mse")
t0 = time.perf_counter()
model.fit(data, epochs=9, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

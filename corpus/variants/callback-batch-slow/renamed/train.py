# EXPECT cause=callback-batch-slow file=train.py line=19
# WHY percentiles of all the weights after every batch
import time

import numpy as np
import keras

rng = np.random.default_rng(24)
x = rng.normal(size=(6400, 100)).astype("float32")
y = rng.integers(0, 10, 6400)


class WeightStats(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.rows = []

    def on_train_batch_end(self, batch, logs=None):
        for w in self.model.get_weights():
            self.rows.append(np.percentile(w, [1, 25, 50, 75, 99]))


model = keras.Sequential([keras.Input((100,)), keras.layers.Dense(512, activation="relu"), keras.layers.Dense(512, activation="relu"), keras.layers.Dense(10, activation="softmax")])
model.compile("sgd", "sparse_categorical_crossentropy")
t0 = time.perf_counter()
model.fit(x, y, batch_size=64, epochs=6, verbose=2, callbacks=[WeightStats()])
print(f"training took {time.perf_counter() - t0:.1f} s")

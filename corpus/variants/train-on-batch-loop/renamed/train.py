# EXPECT cause=train-on-batch-loop file=train.py line=17
# WHY 6000 train_on_batch calls of a tiny model; fit() does the same with far less per-call work
import time

import numpy as np
import keras

rng = np.random.default_rng(20)
x = rng.normal(size=(16000, 16)).astype("float32")
y = (x[:, :1] > 0).astype("float32")
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
EPOCHS, BATCH = 6, 16
t0 = time.perf_counter()
for epoch in range(EPOCHS):
    for i in range(0, len(x), BATCH):
        logs = model.train_on_batch(x[i:i + BATCH], y[i:i + BATCH], return_dict=True)
    print(epoch, logs)
print(f"training took {time.perf_counter() - t0:.1f} s")

# EXPECT cause=checkpoint-too-often file=train.py line=16
# WHY the whole model with optimizer is saved after each batch
import os
import tempfile
import time

import numpy as np
import keras

folder = tempfile.mkdtemp()
rng = np.random.default_rng(26)
x = rng.normal(size=(3200, 256)).astype("float32")
y = rng.integers(0, 10, 3200)
model = keras.Sequential([keras.Input((256,)), keras.layers.Dense(1024, activation="relu"), keras.layers.Dense(512, activation="relu"), keras.layers.Dense(10, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
saver = keras.callbacks.ModelCheckpoint(os.path.join(folder, "model.keras"), save_freq=1)
t0 = time.perf_counter()
model.fit(x, y, batch_size=32, epochs=1, verbose=2, callbacks=[saver])
print(f"training took {time.perf_counter() - t0:.1f} s")

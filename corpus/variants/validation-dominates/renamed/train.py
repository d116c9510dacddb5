# EXPECT cause=validation-dominates file=train.py line=17
# WHY five times as many validation pictures as training pictures, after every epoch
import time

import numpy as np
import keras

rng = np.random.default_rng(28)
x = rng.random((640, 32, 32, 3), dtype=np.float32)
y = rng.integers(0, 5, 640)
xv = rng.random((3000, 32, 32, 3), dtype=np.float32)
yv = rng.integers(0, 5, 3000)
model = keras.Sequential([keras.Input((32, 32, 3)), keras.layers.Conv2D(24, 3, activation="relu"), keras.layers.Conv2D(24, 3, activation="relu"),
                          keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(5, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
t0 = time.perf_counter()
model.fit(x, y, batch_size=32, epochs=6, verbose=2, validation_data=(xv, yv))
print(f"training took {time.perf_counter() - t0:.1f} s")

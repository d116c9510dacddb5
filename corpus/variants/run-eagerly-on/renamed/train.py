# EXPECT cause=run-eagerly-on file=train.py line=22
# WHY run_eagerly left on in compile
import time

import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(8)
x = rng.normal(size=(2048, 64)).astype("float32")
y = rng.integers(0, 10, 2048)
model = keras.Sequential([keras.Input((64,))])
for _ in range(6):
    model.add(layers.Dense(64))
    model.add(layers.BatchNormalization())
    model.add(layers.Activation("relu"))
model.add(layers.Dense(10, activation="softmax"))
model.compile(
    optimizer="adam",
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
    run_eagerly=True,
)
t0 = time.perf_counter()
model.fit(x, y, batch_size=32, epochs=2, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

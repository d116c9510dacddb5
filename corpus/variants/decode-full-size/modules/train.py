# EXPECT cause=decode-full-size file=imaging.py line=23
# WHY 1920x1920 scans decoded whole, then shrunk to 96x96
import time

import keras

import imaging

train = imaging.stream(imaging.sample_scans(14), total=1700, batch=10)
model = keras.Sequential([
    keras.Input((96, 96, 1)),
    keras.layers.SeparableConv2D(8, 5, strides=2, activation="relu"),
    keras.layers.Flatten(),
    keras.layers.Dense(2, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
t0 = time.perf_counter()
model.fit(train, epochs=1, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

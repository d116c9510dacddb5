# EXPECT cause=cpu-augmentation-heavy file=signs.py line=38
# WHY SignPipeline rotates, jitters colours, adds noise and blurs every traffic sign on the CPU in map (fix measured: crop and flip only)
import time

import keras

from signs import SignPipeline

pipe = SignPipeline(n=860, side=56)
model = keras.Sequential([
    keras.Input((56, 56, 3)),
    keras.layers.Conv2D(10, 5, strides=3, activation="relu"),
    keras.layers.Conv2D(20, 3, strides=2, activation="relu"),
    keras.layers.Flatten(),
    keras.layers.Dense(43, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
t0 = time.perf_counter()
model.fit(pipe.train(43), epochs=14, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

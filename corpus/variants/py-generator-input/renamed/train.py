# EXPECT cause=py-generator-input file=train.py line=18
# WHY a Python generator rotates and resizes pictures one by one while the model waits (fix measured: prepare the 64 pictures once)
import time

import numpy as np
import keras
from PIL import Image

rng = np.random.default_rng(0)
gallery = [Image.fromarray(rng.integers(0, 255, (160, 160, 3), dtype=np.uint8)) for _ in range(64)]
BATCH = 16


def batches():
    while True:
        xs, ys = [], []
        for k in rng.integers(0, 64, BATCH):
            pic = gallery[k].rotate(float(rng.uniform(-20, 20)), Image.BICUBIC)
            xs.append(np.asarray(pic.resize((64, 64), Image.LANCZOS), dtype="float32") / 255.0)
            ys.append(k % 4)
        yield np.stack(xs), np.array(ys)


model = keras.Sequential([
    keras.Input((64, 64, 3)),
    keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
    keras.layers.GlobalAveragePooling2D(),
    keras.layers.Dense(4, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
t0 = time.perf_counter()
model.fit(batches(), steps_per_epoch=80, epochs=3, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

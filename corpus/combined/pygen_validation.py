# EXPECT first=py-generator-input file=train.py line=23 second=validation-dominates
# WHY a Python generator that draws the pictures feeds the model and costs most; a large array validation per epoch costs less
"""Count the shapes in generated drawings."""
import time

import numpy as np
import keras
from PIL import Image, ImageDraw


def drawing(rng):
    n = int(rng.integers(1, 8))
    im = Image.new("L", (192, 192))
    d = ImageDraw.Draw(im)
    for _ in range(n):
        x, y, s = rng.integers(0, 150, 3)
        d.ellipse([int(x), int(y), int(x + s // 3 + 5), int(y + s // 3 + 5)], fill=int(rng.integers(80, 255)))
    return np.asarray(im.resize((48, 48), Image.LANCZOS), "float32") / 255.0, n


def batches(rng, size):
    while True:
        pairs = [drawing(rng) for _ in range(size)]
        yield np.stack([p[0] for p in pairs])[..., None], np.array([p[1] for p in pairs], "float32")[:, None]


rng = np.random.default_rng(308)
held_x = rng.random((4000, 48, 48, 1), dtype=np.float32)
held_y = rng.integers(1, 8, (4000, 1)).astype("float32")
model = keras.Sequential([keras.Input((48, 48, 1)), keras.layers.Conv2D(16, 5, strides=2, activation="relu"), keras.layers.Conv2D(16, 3, strides=2, activation="relu"), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("adam", "mae")
t0 = time.time()
model.fit(batches(rng, 32), steps_per_epoch=70, epochs=7, validation_data=(held_x, held_y), verbose=2)
print(f"training took {time.time() - t0:.1f} s")

"""After a short training the model is evaluated on twenty-four times as many images."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
images = rng.integers(0, 256, (12_800, 48, 48, 3), dtype=np.uint8)
labels = rng.integers(0, 5, 12_800)
x, y, test_x, test_y = images[:512], labels[:512], images[512:], labels[512:]

model = keras.Sequential(
    [
        keras.Input((48, 48, 3)),
        keras.layers.Rescaling(1 / 255),
        keras.layers.Conv2D(64, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(128, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(5),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, epochs=2, verbose=2)
model.evaluate(test_x, test_y, verbose=2)

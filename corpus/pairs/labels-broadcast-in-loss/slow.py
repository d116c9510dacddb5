"""One number per image is compared with a whole map of predictions: the loss broadcasts them."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
images = rng.random((512, 64, 64, 3), "float32")
brightness = images.mean(axis=(1, 2, 3))

model = keras.Sequential(
    [
        keras.Input((64, 64, 3)),
        keras.layers.Conv2D(8, 3, padding="same", activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile("adam", loss="mse")
model.fit(images, brightness, batch_size=32, epochs=10, verbose=2)

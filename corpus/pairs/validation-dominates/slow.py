"""Every short epoch is followed by a validation on four times as many images."""

import keras
import numpy as np

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x, y = rng.random((512, 48, 48, 3), "float32"), rng.integers(0, 5, 512)
val_x, val_y = rng.random((2048, 48, 48, 3), "float32"), rng.integers(0, 5, 2048)

model = keras.Sequential(
    [
        keras.Input((48, 48, 3)),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(32, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(5),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, epochs=12, verbose=2, validation_data=(val_x, val_y))

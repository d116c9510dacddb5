"""The softmax of a model in float16 gives zeros, whose gradients are not finite."""

import keras
import numpy as np

keras.mixed_precision.set_global_policy("mixed_float16")
rng = np.random.default_rng(0)
images = rng.random((512, 64), dtype="float32")
labels = rng.integers(0, 100, 512)
model = keras.Sequential(
    [
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(100, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(images, labels, epochs=3, batch_size=32, verbose=2)
scale = model.optimizer.dynamic_scale
print(f"the scale of the loss is {float(scale):g}; every time it was halved a step was left out")

"""MNIST-like small CNN, arrays in memory."""
import time

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

num_classes = 10
rng = np.random.default_rng(2)
x_train = rng.random((12000, 28, 28, 1), dtype=np.float32)
y_train = keras.utils.to_categorical(rng.integers(0, num_classes, 12000), num_classes)

model = keras.Sequential([
    keras.Input(shape=(28, 28, 1)),
    layers.Conv2D(32, kernel_size=(3, 3), activation="relu"),
    layers.MaxPooling2D(pool_size=(2, 2)),
    layers.Conv2D(64, kernel_size=(3, 3), activation="relu"),
    layers.MaxPooling2D(pool_size=(2, 2)),
    layers.Flatten(),
    layers.Dropout(0.5),
    layers.Dense(num_classes, activation="softmax"),
])
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
began = time.time()
history = model.fit(x_train, y_train, batch_size=128, epochs=4, validation_split=0.1)
print(f"training took {time.time() - began:.1f} s")

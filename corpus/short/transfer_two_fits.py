"""Transfer learning: train only the head with the backbone frozen, then unfreeze all."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


def backbone():
    # stands in for a downloaded network
    inp = layers.Input((64, 64, 3))
    h = inp
    for ch in (32, 64, 64):
        h = layers.Conv2D(ch, 3, padding="same", use_bias=False)(h)
        h = layers.BatchNormalization()(h)
        h = layers.ReLU()(h)
        h = layers.MaxPooling2D()(h)
    return keras.Model(inp, layers.GlobalAveragePooling2D()(h), name="backbone")


rng = np.random.default_rng(6)
x = rng.random((1200, 64, 64, 3), dtype=np.float32)
y = rng.integers(0, 2, 1200)

base = backbone()
base.trainable = False
inputs = keras.Input((64, 64, 3))
h = base(inputs, training=False)
outputs = layers.Dense(1, activation="sigmoid")(layers.Dropout(0.2)(h))
model = keras.Model(inputs, outputs)

model.compile(keras.optimizers.Adam(1e-3), "binary_crossentropy", metrics=["accuracy"])
print("--- head only")
model.fit(x, y, batch_size=32, epochs=3, verbose=2)

base.trainable = True
model.compile(keras.optimizers.Adam(1e-5), "binary_crossentropy", metrics=["accuracy"])
print("--- everything")
model.fit(x, y, batch_size=32, epochs=3, verbose=2)

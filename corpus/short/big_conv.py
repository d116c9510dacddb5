# VGG-like network on 96x96 images, only a dozen steps to see that the loss moves
import numpy as np
import tensorflow as tf

BATCH, STEPS = 48, 12
rng = np.random.default_rng(1)
images = rng.random((BATCH * STEPS, 96, 96, 3), dtype=np.float32)
labels = rng.integers(0, 20, BATCH * STEPS)

ds = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(BATCH * STEPS).batch(BATCH).prefetch(1)


def block(x, filters, n):
    for _ in range(n):
        x = tf.keras.layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return tf.keras.layers.MaxPooling2D()(x)


inp = tf.keras.Input((96, 96, 3))
h = block(inp, 32, 2)
h = block(h, 64, 2)
h = block(h, 128, 2)
h = tf.keras.layers.GlobalAveragePooling2D()(h)
model = tf.keras.Model(inp, tf.keras.layers.Dense(20, activation="softmax")(h))
model.compile(tf.keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy")
model.fit(ds, epochs=1)

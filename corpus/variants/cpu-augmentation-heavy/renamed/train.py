# EXPECT cause=cpu-augmentation-heavy file=train.py line=26 also=train.py:31
# WHY five random layers per single image in map on the CPU (fix measured: only the flip is kept)
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

rng = np.random.default_rng(9)
images = rng.integers(0, 255, (640, 64, 64, 3), dtype=np.uint8)
labels = rng.integers(0, 3, 640)
EPOCHS = 14

augment = keras.Sequential([
    layers.RandomFlip("horizontal"),
    layers.RandomRotation(0.2),
    layers.RandomZoom(0.2),
    layers.RandomTranslation(0.1, 0.1),
    layers.RandomContrast(0.3),
])


def prep(img, lab):
    img = tf.cast(img, tf.float32) / 255.0
    return augment(img, training=True), lab


ds = (tf.data.Dataset.from_tensor_slices((images, labels))
      .shuffle(640)
      .map(prep, num_parallel_calls=tf.data.AUTOTUNE)
      .batch(32)
      .prefetch(tf.data.AUTOTUNE))
model = keras.Sequential([
    keras.Input((64, 64, 3)),
    layers.Conv2D(8, 3, strides=2, activation="relu"),
    layers.GlobalAveragePooling2D(),
    layers.Dense(3, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
t0 = time.perf_counter()
model.fit(ds, epochs=EPOCHS, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

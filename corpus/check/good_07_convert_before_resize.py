# EXPECT none
# NOTE (a) convert first, resize after; (b) a second convert after the resize is superfluous but the numbers are 0..1
# SEEN fine, exit 0; last line: 6/6 - 0s - 14ms/step - accuracy: 0.4167 - loss: 0.7377
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, Sequential

SIZE = 28


def prepare(image, label):
    image = tf.image.convert_image_dtype(image, tf.float32)
    image = tf.image.resize(image, [SIZE, SIZE])
    # the augmentation library below insists on float32
    image = tf.image.convert_image_dtype(image, tf.float32)
    return image, label


def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.1)
    image = tf.clip_by_value(image, 0.0, 1.0)
    return image, label


rng = np.random.default_rng(0)
images = rng.integers(0, 256, (48, 40, 40, 3)).astype("uint8")
labels = rng.integers(0, 2, 48)

ds = tf.data.Dataset.from_tensor_slices((images, labels))
ds = ds.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).cache()
ds = ds.shuffle(48).map(augment).batch(8).prefetch(tf.data.AUTOTUNE)

hi = max(float(tf.reduce_max(x)) for x, _ in ds)
assert 0.5 < hi <= 1.0, hi

model = Sequential([
    layers.Input((SIZE, SIZE, 3)),
    layers.Conv2D(8, 3, activation="relu"),
    layers.MaxPool2D(),
    layers.Flatten(),
    layers.Dense(2, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(ds, epochs=2, verbose=2)

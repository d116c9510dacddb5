# EXPECT label-misalignment line=32
# NOTE images and labels are shuffled separately (different orders) and zipped; a report at one of the shuffles would do too
# SEEN runs; test accuracy 0.0 on trivially separable classes
import numpy as np
import tensorflow as tf
from tensorflow import keras

rng = np.random.default_rng(0)
N = 120
labels = rng.integers(0, 4, N)
images = np.zeros((N, 10, 10, 1), "float32")
images[np.arange(N), labels * 2, :, 0] = 1.0


def image_pipeline(arr, training):
    ds = tf.data.Dataset.from_tensor_slices(arr)
    if training:
        ds = ds.shuffle(buffer_size=len(arr))
    return ds.map(lambda im: im * 2.0 - 1.0)


def label_pipeline(arr, training):
    ds = tf.data.Dataset.from_tensor_slices(arr)
    if training:
        ds = ds.shuffle(buffer_size=len(arr))
    return ds.map(lambda v: tf.one_hot(v, 4))


def get_dataset(x, y, training=True):
    imgs = image_pipeline(x, training)
    labs = label_pipeline(y, training)
    ds = tf.data.Dataset.zip((imgs, labs))
    return ds.batch(20).prefetch(tf.data.AUTOTUNE)


train = get_dataset(images[:100], labels[:100])
test = get_dataset(images[100:], labels[100:], training=False)

model = keras.Sequential([
    keras.layers.Input((10, 10, 1)),
    keras.layers.Flatten(),
    keras.layers.Dense(4, activation="softmax"),
])
model.compile(keras.optimizers.Adam(0.05), "categorical_crossentropy", metrics=["accuracy"])
model.fit(train, epochs=10, verbose=0)
print("test accuracy (4 trivially separable classes):", model.evaluate(test, verbose=0)[1])

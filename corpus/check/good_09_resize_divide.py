# EXPECT none
# NOTE resize then division by 255 for images; convert_image_dtype is used on another, never-resized tensor (the uint8 thumbnail)
# SEEN fine, exit 0; last line: 4/4 - 0s - 13ms/step - loss: 0.7410
import numpy as np
import tensorflow as tf
from tensorflow import keras

K = keras


def two_views(image, label):
    big = tf.image.resize(image, (24, 24))
    big = big / 255.0
    thumb = image[::4, ::4]
    thumb = tf.image.convert_image_dtype(thumb, tf.float32)
    return {"big": big, "thumb": thumb}, label


rng = np.random.default_rng(1)
photos = rng.integers(0, 256, (40, 32, 32, 3), dtype="uint8")
labels = rng.integers(0, 2, (40, 1)).astype("float32")

ds = (
    tf.data.Dataset.from_tensor_slices((photos, labels))
    .map(two_views, num_parallel_calls=tf.data.AUTOTUNE)
    .cache()
    .shuffle(40)
    .batch(10)
)

for inputs, _ in ds.take(1):
    for name, t in inputs.items():
        assert 0.5 < float(tf.reduce_max(t)) <= 1.0, name

big = K.Input((24, 24, 3), name="big")
thumb = K.Input((8, 8, 3), name="thumb")
a = K.layers.GlobalAveragePooling2D()(K.layers.Conv2D(4, 3, activation="relu")(big))
b = K.layers.Flatten()(thumb)
out = K.layers.Dense(1, activation="sigmoid")(K.layers.Concatenate()([a, b]))
model = K.Model({"big": big, "thumb": thumb}, out)
model.compile("adam", "binary_crossentropy")
model.fit(ds, epochs=2, verbose=2)

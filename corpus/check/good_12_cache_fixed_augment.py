# EXPECT none
# NOTE the "augmentation" is deterministic (both flips of every image are added as extra samples), so caching it is right; random_* ops are only in a function used behind the cache
# SEEN fine; Keras prints "ran out of data" once because flat_map hides the length, all 96 samples are used
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import Conv2D, Dense, GlobalMaxPooling2D, Input
from tensorflow.keras.models import Sequential


def random_looking_augment(image, label):
    """Despite its name nothing is drawn: four fixed variants."""
    variants = tf.stack([
        image,
        tf.image.flip_left_right(image),
        tf.image.flip_up_down(image),
        tf.image.adjust_brightness(image, 0.1),
    ])
    return tf.data.Dataset.from_tensor_slices((variants, tf.repeat(label, 4)))


def colour_noise(image, label):
    image = tf.image.random_hue(image, 0.05)
    return image, label


rng = np.random.default_rng(6)
x = rng.uniform(size=(24, 16, 16, 3)).astype("float32")
y = rng.integers(0, 2, 24)

ds = tf.data.Dataset.from_tensor_slices((x, y)).flat_map(random_looking_augment)
ds = ds.cache()
ds = ds.shuffle(96)
ds = ds.map(colour_noise)
ds = ds.batch(12).prefetch(tf.data.AUTOTUNE)

model = Sequential([
    Input((16, 16, 3)),
    Conv2D(8, 3, activation="relu"),
    GlobalMaxPooling2D(),
    Dense(2, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(ds, epochs=2, verbose=2)
print(sum(len(b) for b, _ in ds), "samples per epoch")

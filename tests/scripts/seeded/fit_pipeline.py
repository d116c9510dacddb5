"""A seeded `fit` on a shuffled, augmented tf.data pipeline, with dropout and validation."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(11)
images = np.random.default_rng(1).random((240, 12, 12, 1), "float32")
labels = np.arange(240) % 3


def augment(image, label):
    return tf.image.random_flip_left_right(image) + tf.random.normal((12, 12, 1), 0, 0.1), label


train = tf.data.Dataset.from_tensor_slices((images[:200], labels[:200])).shuffle(200)
train = train.map(augment).batch(10).prefetch(2)
held_out = tf.data.Dataset.from_tensor_slices((images[200:], labels[200:])).batch(10)
model = keras.Sequential(
    [
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.5),
        keras.layers.Dense(3, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(train, epochs=4, validation_data=held_out, verbose=0).history
for name in sorted(history):
    print(name, *(float(value).hex() for value in history[name]))
print("weights", *(float(w.astype("float64").sum()).hex() for w in model.get_weights()))

# EXPECT cache-after-augment line=25
# NOTE cache() behind the random map: the first epoch's flips are frozen
# SEEN runs; printed "same augmentation in two epochs: True"
import numpy as np
import tensorflow as tf
from tensorflow import keras

(BATCH, EPOCHS) = (16, 3)
rng = np.random.default_rng(3)
x_all = rng.uniform(0, 1, (96, 20, 20, 3)).astype(np.float32)
y_all = rng.integers(0, 2, 96)


def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_contrast(image, 0.8, 1.2)
    image = tf.image.resize_with_crop_or_pad(image, 24, 24)
    image = tf.image.random_crop(image, size=[20, 20, 3])
    return image, label


train_ds = (
    tf.data.Dataset.from_tensor_slices((x_all[:80], y_all[:80]))
    .map(augment, num_parallel_calls=tf.data.AUTOTUNE)
    .cache()
    .shuffle(80)
    .batch(BATCH)
    .prefetch(tf.data.AUTOTUNE)
)
valid_ds = (
    tf.data.Dataset.from_tensor_slices((x_all[80:], y_all[80:]))
    .batch(BATCH)
    .cache()
    .prefetch(tf.data.AUTOTUNE)
)


def build_model():
    model = keras.Sequential(
        [
            keras.layers.InputLayer(shape=(20, 20, 3)),
            keras.layers.Conv2D(8, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile(
        optimizer="adam",
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


def checksum():
    return sorted(round(float(v), 4) for b, _ in train_ds for v in tf.reduce_sum(b[:, :, :5], (1, 2, 3)))


model = build_model()
model.fit(train_ds, validation_data=valid_ds, epochs=EPOCHS, verbose=2)
print("same augmentation in two epochs:", checksum() == checksum())

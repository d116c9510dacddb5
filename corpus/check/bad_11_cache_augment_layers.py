# EXPECT cache-after-augment line=40
# NOTE RandomFlip/RandomRotation layers called with training=True in a map; cache() on a reassigned name some lines later
# SEEN runs; printed "identical epochs: True"
import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(0)

data_augmentation = keras.Sequential(
    [
        layers.RandomFlip("horizontal"),
        layers.RandomRotation(0.1),
    ]
)


def prepare(ds, augment=False):
    # Scale first
    ds = ds.map(lambda x, y: (tf.cast(x, tf.float32) / 255.0, y))
    if augment:
        ds = ds.map(
            lambda x, y: (data_augmentation(x, training=True), y),
            num_parallel_calls=tf.data.AUTOTUNE,
        )
    return ds


rng = np.random.default_rng(0)
images = rng.integers(0, 256, (64, 18, 18, 1)).astype("uint8")
labels = rng.integers(0, 3, 64)
raw_train = tf.data.Dataset.from_tensor_slices((images[:48], labels[:48]))
raw_val = tf.data.Dataset.from_tensor_slices((images[48:], labels[48:]))

train = prepare(raw_train, augment=True)
val = prepare(raw_val)

# decoding is slow, keep the results in memory
train = train.cache()
val = val.cache()
train = train.shuffle(48).batch(8).prefetch(2)
val = val.batch(8).prefetch(2)

inputs = keras.Input((18, 18, 1))
x = layers.Conv2D(6, 3, activation="relu")(inputs)
x = layers.MaxPooling2D()(x)
x = layers.Flatten()(x)
x = layers.Dropout(0.3)(x)
outputs = layers.Dense(3)(x)
model = keras.Model(inputs, outputs)
model.compile(
    optimizer="adam",
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(train, validation_data=val, epochs=3, verbose=2)

first = sorted(float(v) for b, _ in train for v in tf.reduce_sum(b[:, :, :7], (1, 2, 3)))
second = sorted(float(v) for b, _ in train for v in tf.reduce_sum(b[:, :, :7], (1, 2, 3)))
print("identical epochs:", np.allclose(first, second, atol=1e-4))

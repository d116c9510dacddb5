# EXPECT none
# NOTE conv net on a tf.data pipeline with cache, shuffle and prefetch
import numpy as np
import tensorflow as tf

AUTOTUNE = tf.data.AUTOTUNE


def prep(img, lab):
    return tf.cast(img, tf.float32) / 255.0, lab


def dataset(n, bs, train):
    r = np.random.RandomState(int(train))
    ds = tf.data.Dataset.from_tensor_slices((r.randint(0, 256, (n, 16, 16, 3)).astype("uint8"), r.randint(0, 5, n)))
    ds = ds.map(prep, num_parallel_calls=AUTOTUNE).cache()
    if train:
        ds = ds.shuffle(n)
    return ds.batch(bs).prefetch(AUTOTUNE)


train_ds = dataset(16000, 32, True)
val_ds = dataset(1600, 32, False)

model = tf.keras.Sequential([
    tf.keras.Input((16, 16, 3)),
    tf.keras.layers.Conv2D(16, 3, padding="same", activation="relu"),
    tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Conv2D(24, 3, padding="same", activation="relu"),
    tf.keras.layers.GlobalMaxPooling2D(),
    tf.keras.layers.Dense(5),
])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(train_ds, validation_data=val_ds, epochs=14, verbose=2)

"""The same random shift, on all cores."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
sounds = np.random.default_rng(0).standard_normal((512, 16_000)).astype("float32")
labels = np.arange(512) % 4


def augment(sound, label):
    sound = tf.roll(sound, tf.random.uniform((), 0, 4000, tf.int32), axis=0)
    loud = tf.abs(tf.signal.stft(sound, frame_length=400, frame_step=100))
    return tf.math.log(loud + 1e-6), label


ds = tf.data.Dataset.from_tensor_slices((sounds, labels)).repeat()
ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.batch(16).prefetch(2)

model = keras.Sequential(
    [
        keras.Input((157, 257)),
        keras.layers.Conv1D(16, 5, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(4),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(ds, steps_per_epoch=60, epochs=6, verbose=2)

"""Features of the same sounds are computed anew in every epoch."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
sounds = rng.standard_normal((960, 32_000)).astype("float32")
labels = rng.integers(0, 4, 960)
mel = tf.signal.linear_to_mel_weight_matrix(64, 257, 16_000)


def features(sound, label):
    power = tf.abs(tf.signal.stft(sound, frame_length=400, frame_step=80, fft_length=512)) ** 2
    return tf.math.log(tf.matmul(power, mel) + 1e-6), label


ds = tf.data.Dataset.from_tensor_slices((sounds, labels))
ds = ds.map(features, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.shuffle(64).batch(16).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [
        keras.Input((396, 64)),
        keras.layers.Conv1D(16, 5, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(4),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(ds, epochs=10, verbose=2)

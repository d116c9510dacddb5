# EXPECT cause=cache-partial-discarded file=train.py line=20
# WHY take() after cache(): the cache is never complete, so it is thrown away every epoch
import time

import numpy as np
import tensorflow as tf

EPOCHS = 30
sounds = np.random.default_rng(13).normal(size=(1200, 8000)).astype("float32")
kinds = np.random.default_rng(14).integers(0, 6, 1200)


def melspec(wave, kind):
    s = tf.abs(tf.signal.stft(wave, 512, 64))
    mel = tf.matmul(s, tf.signal.linear_to_mel_weight_matrix(40, 257, 8000))
    return tf.math.log(mel + 1e-6), kind


ds = tf.data.Dataset.from_tensor_slices((sounds, kinds)).map(melspec, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.cache().take(640)
ds = ds.batch(32).prefetch(tf.data.AUTOTUNE)
model = tf.keras.Sequential([
    tf.keras.Input((118, 40)),
    tf.keras.layers.GlobalAveragePooling1D(),
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(6, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
t0 = time.perf_counter()
model.fit(ds, epochs=EPOCHS, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

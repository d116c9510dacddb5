# EXPECT moving
# NOTE the same pipeline with 30 recordings: the cache is full after some 6 s, then fast epochs.
import os
import tempfile
import time
import wave

import numpy as np
import tensorflow as tf
import keras

RATE = 8000
N = 30


def make_wavs():
    d = tempfile.mkdtemp(prefix="speech_")
    rng = np.random.RandomState(2)
    for k in range(N):
        with wave.open(os.path.join(d, f"rec_{k:04d}_{k % 3}.wav"), "wb") as w:
            w.setnchannels(1)
            w.setsampwidth(2)
            w.setframerate(RATE)
            w.writeframes((rng.randn(RATE) * 3000).astype("<i2").tobytes())
    return d


def spectrogram(path):
    with wave.open(path.decode(), "rb") as w:
        pcm = np.frombuffer(w.readframes(w.getnframes()), dtype="<i2") / 32768.0
    frames = pcm[: 62 * 128].reshape(62, 128)
    spec = np.abs(np.fft.rfft(frames, axis=1))
    time.sleep(0.2)  # denoising, done by an external binary in real life
    return spec.astype(np.float32), np.int64(path.decode()[-5])


def to_example(path):
    spec, lab = tf.numpy_function(spectrogram, [path], [tf.float32, tf.int64])
    spec.set_shape((62, 65))
    lab.set_shape(())
    return spec, lab


wav_dir = make_wavs()
files = tf.data.Dataset.list_files(wav_dir + "/*.wav", shuffle=False)
ds = files.map(to_example).cache().shuffle(N).batch(10)

model = keras.Sequential([
    keras.Input((62, 65)),
    keras.layers.Conv1D(16, 3, activation="relu"),
    keras.layers.GlobalAveragePooling1D(),
    keras.layers.Dense(3, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["acc"])
model.fit(ds, epochs=150)

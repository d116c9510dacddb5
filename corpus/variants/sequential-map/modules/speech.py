import numpy as np
import tensorflow as tf


def _noisy_spectrum(wave):
    wave = wave + tf.random.normal(tf.shape(wave), stddev=0.01)
    order = tf.argsort(wave)
    ranked = tf.cast(tf.gather(order, tf.argsort(order)), tf.float32) / 16000.0
    return tf.abs(tf.signal.stft(ranked - 0.5, 128, 64))


class Speech:
    def __init__(self, n):
        r = np.random.default_rng(21)
        self.waves = r.normal(size=(300, 16000)).astype("float32")
        self.take = r.integers(0, 300, n)
        self.words = r.integers(0, 10, n)

    def element(self, i, w):
        return _noisy_spectrum(tf.gather(self.waves, i)), w


def dataset(n, batch):
    src = Speech(n)
    base = tf.data.Dataset.from_tensor_slices((src.take, src.words)).shuffle(n)
    spectra = base.map(src.element)
    return spectra.batch(batch).prefetch(tf.data.AUTOTUNE)

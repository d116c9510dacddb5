# EXPECT cause=sequential-map file=train.py line=32
# WHY perturbed light curves are made one after another by a stateful map without num_parallel_calls in LightCurves.pipeline
"""Find eclipsing binaries in simulated light curves. Each draw is a new noisy, gappy observation."""
import time

import numpy as np
import tensorflow as tf

N_POINTS = 4096


class LightCurves:
    def __init__(self, n):
        rng = np.random.default_rng(77)
        t = np.linspace(0, 40, N_POINTS)
        self.period = rng.uniform(1, 9, n).astype("float32")
        self.is_binary = rng.integers(0, 2, n).astype("float32")[:, None]
        self.t = t.astype("float32")

    def _observe(self, period, label):
        phase = tf.math.floormod(self.t / period + tf.random.uniform(()), 1.0)
        flux = 1.0 - 0.3 * label[0] * tf.cast(phase < 0.08, tf.float32)
        flux += tf.random.normal((N_POINTS,), stddev=0.05)
        trend = tf.cumsum(tf.random.normal((N_POINTS,), stddev=0.01))
        folded = tf.gather(flux + trend, tf.argsort(phase))
        rank = tf.cast(tf.argsort(tf.argsort(folded)), tf.float32) / N_POINTS
        power = tf.abs(tf.signal.rfft(rank - 0.5))[1:513]
        return tf.math.log1p(power)[:, None], label

    def pipeline(self, batch_size):
        base = tf.data.Dataset.from_tensor_slices((self.period, self.is_binary))
        return base.map(self._observe).batch(batch_size).prefetch(tf.data.AUTOTUNE)


def get_model():
    net = tf.keras.Sequential()
    net.add(tf.keras.layers.Input((512, 1)))
    net.add(tf.keras.layers.Conv1D(12, 9, strides=4, activation="relu"))
    net.add(tf.keras.layers.GlobalMaxPooling1D())
    net.add(tf.keras.layers.Dense(1, activation="sigmoid"))
    net.compile("rmsprop", "binary_crossentropy")
    return net


def main():
    data = LightCurves(3000).pipeline(batch_size=50)
    net = get_model()
    start = time.perf_counter()
    net.fit(data, epochs=3, verbose=2)
    print(f"training took {time.perf_counter() - start:.1f} s")


main()

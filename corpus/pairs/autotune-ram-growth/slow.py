"""A prefetch of thousands of batches fills memory while the model is slower than its input."""

import time

import keras
import tensorflow as tf

keras.utils.set_random_seed(0)


def batch(number):
    """Make a batch: some thirty of them a second, on one core."""
    seeds = [tf.stack([number, place]) for place in range(3)]
    images = tf.add_n([tf.random.stateless_normal((32, 64, 64, 3), seed) for seed in seeds])
    return images, tf.range(32) % 10


class Stop(keras.callbacks.Callback):
    """Ends after half a minute, so that memory stays small."""

    def on_train_begin(self, logs=None):
        """Note the time."""
        self.began_s = time.perf_counter()

    def on_train_batch_end(self, step, logs=None):
        """Look at it."""
        self.model.stop_training = time.perf_counter() - self.began_s > 30


ds = tf.data.Dataset.range(1_000_000).map(batch)
ds = ds.prefetch(40_000)

model = keras.Sequential(
    [
        keras.Input((64, 64, 3)),
        keras.layers.Conv2D(48, 3, activation="relu"),
        keras.layers.Conv2D(48, 3, strides=2, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10),
    ]
)
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
began_s = time.perf_counter()
model.fit(ds, steps_per_epoch=2000, verbose=0, callbacks=[Stop()])
print(f"training took {time.perf_counter() - began_s:.2f} s")

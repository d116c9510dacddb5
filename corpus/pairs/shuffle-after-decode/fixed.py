"""The encoded images are shuffled, then decoded: the first batch is there at once."""

import keras
import numpy as np
import tensorflow as tf

# One core for the model, as on a server that is shared; the other is left for the input.
tf.config.threading.set_intra_op_parallelism_threads(1)
keras.utils.set_random_seed(0)
noise = np.random.default_rng(0).integers(0, 255, (8, 64, 64, 3), dtype=np.uint8)
files = [tf.io.encode_jpeg(tf.image.resize(n, (480, 480), "nearest")).numpy() for n in noise] * 100
labels = np.arange(800) % 4


def decode(data, label):
    image = tf.io.decode_jpeg(data, channels=3)
    return tf.image.resize(image, (96, 96), antialias=True) / 255.0, label


ds = tf.data.Dataset.from_tensor_slices((files, labels))
ds = ds.shuffle(800)
ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.batch(16).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential(
    [
        keras.Input((96, 96, 3)),
        keras.layers.Reshape((96, 288)),
        keras.layers.GRU(96),
        keras.layers.Dense(4),
    ]
)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(ds, epochs=4, verbose=2)

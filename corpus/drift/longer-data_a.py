# EXPECT none
# NOTE sentences sorted by length (short first), padded per batch: later steps are slower only because the text is longer
import numpy as np
import tensorflow as tf
from tensorflow import keras

rng = np.random.default_rng(0)
lengths = np.sort(rng.integers(6, 90, size=48000))
texts = [rng.integers(1, 2000, n).astype("int32") for n in lengths]
labels = np.array([int(t[0] > 1000) for t in texts], dtype="int32")


def gen():
    for t, l in zip(texts, labels):
        yield t, l


ds = tf.data.Dataset.from_generator(
    gen, output_signature=(tf.TensorSpec((None,), tf.int32), tf.TensorSpec((), tf.int32)))
ds = ds.padded_batch(16, padded_shapes=([None], []), drop_remainder=True).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential([
    keras.Input((None,), dtype="int32"),
    keras.layers.Embedding(2000, 32),
    keras.layers.GRU(32),
    keras.layers.Dense(2),
])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"])
model.fit(ds, epochs=1, verbose=2)

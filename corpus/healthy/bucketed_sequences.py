"""GRU tagger over sequences of different lengths, bucketed and padded to four sizes."""
import time

import numpy as np
import tensorflow as tf

keras = tf.keras
BOUNDS = [25, 49, 73]
rng = np.random.default_rng(7)
lengths = rng.integers(8, 96, size=2400)
sents = [rng.integers(1, 5000, size=n).astype("int32") for n in lengths]
tags = [rng.integers(1, 12, size=n).astype("int32") for n in lengths]
flat_x, flat_y = tf.ragged.constant(sents), tf.ragged.constant(tags)

train = (tf.data.Dataset.from_tensor_slices((flat_x, flat_y))
         .map(lambda a, b: (a, b), num_parallel_calls=tf.data.AUTOTUNE)
         .cache()
         .shuffle(1000)
         .bucket_by_sequence_length(lambda a, b: tf.shape(a)[0], BOUNDS, [32] * 4,
                                    padded_shapes=([None], [None]), drop_remainder=True,
                                    pad_to_bucket_boundary=False)
         .prefetch(tf.data.AUTOTUNE))

model = keras.Sequential([
    keras.Input((None,), dtype="int32"),
    keras.layers.Embedding(5000, 64),
    keras.layers.Bidirectional(keras.layers.GRU(96, return_sequences=True)),
    keras.layers.Dense(12),
])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
tic = time.perf_counter()
model.fit(train, epochs=3, verbose=2)
print(f"training took {time.perf_counter() - tic:.1f} s")

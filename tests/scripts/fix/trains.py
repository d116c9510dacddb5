"""A small training with labels that a fix could get wrong."""

import keras
import numpy as np
import tensorflow as tf

x = np.random.rand(512, 8).astype("float32")
labels = (x.sum(1) > 4).astype("int32")
ds = tf.data.Dataset.from_tensor_slices((x, labels)).shuffle(512).batch(16)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(2)])
model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
callbacks = []
model.fit(ds, epochs=1000, verbose=0, callbacks=callbacks)

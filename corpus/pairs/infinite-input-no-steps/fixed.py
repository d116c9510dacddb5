"""The same data without the repeat: fit starts it anew for every epoch."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.standard_normal((2048, 32)).astype("float32")
y = x.sum(axis=1)

ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(2048)
ds = ds.batch(32).prefetch(tf.data.AUTOTUNE)

model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile("adam", loss="mse")
model.fit(ds, epochs=2, verbose=2)

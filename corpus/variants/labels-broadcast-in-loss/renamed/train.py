# EXPECT cause=labels-broadcast-in-loss file=train.py line=19
# WHY labels (b,) against predictions (b,24,24,1): the difference is (b,24,24,b)
import time

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(35)
x = rng.random((2048, 24, 24, 3), dtype=np.float32)
y = x.mean((1, 2, 3)).astype("float32")
model = tf.keras.Sequential([
    tf.keras.Input((24, 24, 3)),
    tf.keras.layers.Conv2D(8, 3, padding="same", activation="relu"),
    tf.keras.layers.Dense(1),
])


def mse(y_true, y_pred):
    return tf.reduce_mean(tf.square(y_true - y_pred))


model.compile("adam", mse)
t0 = time.perf_counter()
model.fit(x, y, batch_size=128, epochs=5, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

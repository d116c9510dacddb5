# EXPECT none
# NOTE mixed_float16 is set only for a speed probe and reset to float32 before the model is built; softmax head then is float32
# SEEN fine, exit 0; last line: 6/6 - 0s - 1ms/step - loss: 1.2461
import contextlib
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras


@contextlib.contextmanager
def dtype_policy(name):
    before = keras.mixed_precision.global_policy()
    keras.mixed_precision.set_global_policy(name)
    try:
        yield
    finally:
        keras.mixed_precision.set_global_policy(before)


def probe(policy):
    with dtype_policy(policy):
        layer = keras.layers.Dense(64)
        x = np.zeros((32, 64), "float32")
        layer(x)
        t0 = time.perf_counter()
        for _ in range(5):
            layer(x)
        return time.perf_counter() - t0


for name in ("float32", "mixed_float16"):
    print(name, f"{probe(name) * 1e3:.1f} ms")


def make():
    return keras.Sequential([
        keras.Input((7,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(3, activation="softmax"),
    ])


model = make()
assert model.outputs[0].dtype == "float32"
model.compile("adam", "sparse_categorical_crossentropy")
rng = np.random.default_rng(0)
x = rng.normal(size=(90, 7)).astype("float32")
y = rng.integers(0, 3, 90)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(90).batch(15)
model.fit(ds, epochs=2, verbose=2)

# EXPECT cause=map-not-vectorised file=records.py line=29
# WHY parse_single_example per record instead of parse_example per batch
import time

import tensorflow as tf

from records import make_file, load

PASSES = 9
path = make_file(30000)
inputs = {k: tf.keras.Input((1,), name=k) for k in ("age", "income", "score", "visits")}
h = tf.keras.layers.Concatenate()(list(inputs.values()))
h = tf.keras.layers.Dense(32, activation="relu")(h)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(h))
model.compile("sgd", "mse")
t0 = time.perf_counter()
model.fit(load(path), epochs=PASSES, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

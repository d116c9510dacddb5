# EXPECT cause=cpu-augmentation-heavy file=pipeline.py line=12
# WHY blur, hue, saturation, JPEG noise and bicubic crop per image on the CPU (fix measured: flip and noise only)
import time

import tensorflow as tf

from pipeline import build

model = tf.keras.Sequential([
    tf.keras.Input((72, 72, 3)),
    tf.keras.layers.Conv2D(12, 3, strides=3, activation="relu"),
    tf.keras.layers.GlobalMaxPooling2D(),
    tf.keras.layers.Dense(6),
])
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
t0 = time.perf_counter()
model.fit(build(n=720, batch=24), epochs=10, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")

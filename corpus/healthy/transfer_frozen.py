"""Transfer learning: frozen convolutional base (random weights here), new head, then a short fine-tune of the last block."""
import time

import numpy as np
import tensorflow as tf

K = tf.keras
base = K.applications.MobileNetV2(input_shape=(96, 96, 3), include_top=False, weights=None, pooling="avg", alpha=0.5)
base.trainable = False
augment = K.Sequential([K.layers.RandomFlip("horizontal")])

inp = K.Input((96, 96, 3))
h = augment(inp)
h = K.layers.Rescaling(1 / 127.5, offset=-1)(h)
h = base(h, training=False)
h = K.layers.Dropout(0.2)(h)
model = K.Model(inp, K.layers.Dense(3, activation="softmax")(h))
model.compile(K.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])

r = np.random.default_rng(208)
x = r.integers(0, 255, (640, 96, 96, 3), dtype=np.uint8)
y = r.integers(0, 3, 640)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(640).batch(32).prefetch(tf.data.AUTOTUNE)
t0 = time.time()
model.fit(ds, epochs=12, verbose=2)
print(f"training took {time.time() - t0:.1f} s")

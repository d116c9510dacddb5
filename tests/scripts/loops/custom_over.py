"""A loop over steps that a library makes: it takes the batch and calls the step by itself.
Expect: kind=custom, steps=2*n, input=tf.data, wait=measured
"""

import sys

import keras
import numpy as np
import tensorflow as tf

from quickfit.tuning import make_train_step

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
x = np.random.default_rng(0).normal(size=(n * 16, 32)).astype("float32")
ds = tf.data.Dataset.from_tensor_slices((x, x[:, 0])).batch(16).prefetch(tf.data.AUTOTUNE)
layers = [keras.Input((32,)), keras.layers.Dense(256, "relu"), keras.layers.Dense(1)]
model = keras.Sequential(layers)
step = make_train_step(model, keras.losses.MeanSquaredError(), keras.optimizers.SGD(0.01))
for epoch in range(2):
    for logs in step.over(ds):  # the loop
        last = logs
    print(epoch, float(last["loss"]))

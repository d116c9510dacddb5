"""A training loop of your own with a compiled step, watched by quickfit.

`make_train_step` takes care of loss scaling, clipping, accumulation and non-finite updates; `Watch`
says at the end where the time went.
"""

import keras
import numpy as np
import tensorflow as tf

import quickfit
from quickfit.tuning import make_train_step

rng = np.random.default_rng(0)
x = rng.normal(size=(8192, 64)).astype("float32")
y = (x[:, :8].sum(axis=1) > 0).astype("int32")
dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(8192).batch(64).prefetch(2)

model = keras.Sequential(
    [keras.Input((64,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(2)]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
step = make_train_step(
    model, loss, keras.optimizers.Adam(), metrics=["accuracy"], clip=1.0, guard=True
)

with quickfit.Watch():
    for epoch in range(5):
        step.reset_metrics()
        for logs in step.over(dataset):
            pass  # reading a value here would wait for the device in every step
        print(epoch, float(logs["loss"]), float(logs["accuracy"]))

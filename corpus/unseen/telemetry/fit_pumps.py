"""Predictive maintenance of pumps; vibration features -> hours to failure."""
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

from telemetry import Telemetry

tf.keras.utils.set_random_seed(3)
x = np.random.randn(9600, 64).astype("float32")
y = np.maximum(x[:, :4].sum(1, keepdims=True), 0)
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(9600).batch(128).prefetch(2)
model = tf.keras.Sequential([layers.Input((64,)), layers.Dense(256, "relu"), layers.Dense(256, "relu"), layers.Dense(1)])
opt = tf.keras.optimizers.Adam()
opt.build(model.trainable_variables)


@tf.function
def step(a, b):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(a, training=True) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


with tempfile.TemporaryDirectory() as folder:
    shipper = Telemetry(folder)
    shipper.start()
    for epoch in range(3):
        for i, (a, b) in enumerate(ds):
            loss = step(a, b)
            shipper.push({"epoch": epoch, "step": i, "loss": float(loss)})
        print("epoch", epoch, "loss %.4f" % float(loss))
    shipper.stop.set()
    shipper.join()

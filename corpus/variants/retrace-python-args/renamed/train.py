# EXPECT cause=retrace-python-args file=train.py line=28
# WHY beta is a new Python float in every step: one trace per step
import time

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(14)
x = tf.constant(rng.normal(size=(128, 48)).astype("float32"))
y = tf.constant(rng.normal(size=(128, 1)).astype("float32"))
model = tf.keras.Sequential([tf.keras.Input((48,))] + [tf.keras.layers.Dense(48, activation="relu") for _ in range(2)] + [tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.01)
opt.build(model.trainable_variables)


@tf.function
def train_step(xb, yb, beta):
    with tf.GradientTape() as tape:
        out = model(xb, training=True)
        loss = tf.reduce_mean(tf.square(out - yb)) + beta * tf.reduce_mean(tf.abs(out))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


STEPS = 70
t0 = time.perf_counter()
for step in range(STEPS):
    loss = train_step(x, y, step / STEPS)
print("loss", float(loss))
print(f"training took {time.perf_counter() - t0:.1f} s")

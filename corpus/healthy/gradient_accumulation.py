"""Gradient accumulation over four micro-batches inside fit (custom train_step with tf.cond-free assignments)."""
import time

import numpy as np
import tensorflow as tf
from tensorflow import keras

STEPS = 4


class Accumulating(keras.Model):
    def __init__(self, *a, **kw):
        super().__init__(*a, **kw)
        self.acc = [tf.Variable(tf.zeros(v.shape), trainable=False) for v in self.trainable_variables]
        self.tick = tf.Variable(0, dtype=tf.int32, trainable=False)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        for a, g in zip(self.acc, tape.gradient(loss, self.trainable_variables)):
            a.assign_add(g / STEPS)
        self.tick.assign_add(1)
        tf.cond(tf.equal(self.tick % STEPS, 0), self._flush, lambda: tf.constant(0))
        return {"loss": loss}

    def _flush(self):
        self.optimizer.apply_gradients(zip([tf.identity(a) for a in self.acc], self.trainable_variables))
        for a in self.acc:
            a.assign(tf.zeros_like(a))
        return tf.constant(0)


rng = np.random.default_rng(206)
x = rng.random((960, 40, 40, 3), dtype=np.float32)
y = rng.integers(0, 12, 960)
i = keras.Input((40, 40, 3))
h = i
for w in (32, 48, 64):
    h = keras.layers.Conv2D(w, 3, padding="same", activation="relu")(h)
    h = keras.layers.Conv2D(w, 3, padding="same", activation="relu")(h)
    h = keras.layers.MaxPooling2D()(h)
h = keras.layers.GlobalAveragePooling2D()(h)
model = Accumulating(i, keras.layers.Dense(12, activation="softmax")(h))
opt = keras.optimizers.Adam(1e-3)
opt.build(model.trainable_variables)
model.compile(optimizer=opt, loss="sparse_categorical_crossentropy")
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(960).batch(32, drop_remainder=True).prefetch(2)
t0 = time.time()
model.fit(ds, epochs=10, verbose=2)
print(f"training took {time.time() - t0:.1f} s")

"""Sensor classifier trained from compressed TFRecord shards, with gradient accumulation."""
import tempfile

import tensorflow as tf

import records

BATCH, ACCUM, STEPS = 50, 2, 60


class Trainer:
    def __init__(self, ds):
        self.ds = ds
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(128, activation="relu"),
                                          tf.keras.layers.Dense(1)])
        self.model.build((None, 600))
        self.opt = tf.keras.optimizers.Adam(1e-3)
        self.opt.build(self.model.trainable_variables)
        self.loss = tf.keras.losses.BinaryCrossentropy(from_logits=True)
        self.acc = tf.keras.metrics.BinaryAccuracy(threshold=0.0)

    @tf.function
    def grads(self, x, y):
        with tf.GradientTape() as tape:
            z = self.model(x, training=True)[:, 0]
            loss = self.loss(y, z)
        self.acc.update_state(y, z)
        return loss, tape.gradient(loss, self.model.trainable_variables)

    def micro_batch(self, i):
        """The i-th micro batch of the data set."""
        return next(iter(self.ds.skip(i).take(1)))

    def run(self):
        for step in range(STEPS):
            acc = None
            for k in range(ACCUM):
                x, y = self.micro_batch((step * ACCUM + k) % 120)
                loss, g = self.grads(x, y)
                acc = g if acc is None else [a + b for a, b in zip(acc, g)]
            self.opt.apply_gradients(zip([a / ACCUM for a in acc], self.model.trainable_variables))
            if step % 20 == 19:
                print(f"step {step + 1}: loss {float(loss):.3f} acc {float(self.acc.result()):.3f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as tmp:
        tf.keras.utils.set_random_seed(0)
        shards = records.write_shards(tmp)
        Trainer(records.dataset(shards, BATCH)).run()

# EXPECT cause=iterator-per-batch file=train.py line=32

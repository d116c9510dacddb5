import keras
import tensorflow as tf


class Trainer:
    def __init__(self, model, optimizer, loss):
        self.model = model
        self.optimizer = optimizer
        self.loss = loss
        self.mean = keras.metrics.Mean()

    @tf.function
    def _step(self, x, y):
        with tf.GradientTape() as tape:
            pred = self.model(x, training=True)
            value = self.loss(y, pred)
            value += sum(self.model.losses)
        variables = self.model.trainable_variables
        grads = tape.gradient(value, variables)
        grads, norm = tf.clip_by_global_norm(grads, 1.0)
        first = tf.reduce_mean(tf.cast(tf.equal(grads[0], 0), tf.float32))
        self.optimizer.apply(grads, variables)
        return value, norm, first

    def run(self, dataset, epochs):
        for epoch in range(epochs):
            self.mean.reset_state()
            for x, y in dataset:
                value, norm, first = self._step(x, y)
                self.mean.update_state(value)
            print(f"epoch {epoch} loss {float(self.mean.result()):.6f} |g| {float(norm):.2e}"
                  f" zero share of the first kernel's gradient {float(first):.2f}")

# EXPECT cause=traced-graph-leak|retrace-python-args|retrace-shapes file=train.py line=39 also=train.py:21
# NOTE a new tf.function is made and cached for every learning rate, and the cosine schedule gives a new rate each step (the tf.function(sgd) line is as right an answer as the call)
import math
import tensorflow as tf


class StepFactory:
    def __init__(self, model):
        self.model = model
        self._cache = {}

    def get(self, lr):
        if lr not in self._cache:
            def sgd(x, y):
                with tf.GradientTape() as tape:
                    err = tf.reduce_mean(tf.keras.losses.mse(y, self.model(x, training=True)))
                grads = tape.gradient(err, self.model.trainable_weights)
                for w, g in zip(self.model.trainable_weights, grads):
                    w.assign_sub(lr * g)
                return err
            self._cache[lr] = tf.function(sgd)
        return self._cache[lr]


def cosine(step, total, peak=0.05):
    return 0.5 * peak * (1 + math.cos(math.pi * step / total))


if __name__ == "__main__":
    total = 500
    tf.random.set_seed(5)
    model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="tanh") for _ in range(4)] + [tf.keras.layers.Dense(1)])
    model.build((None, 16))
    steps = StepFactory(model)
    for it in range(total):
        x = tf.random.normal((64, 16))
        y = tf.reduce_sum(x[:, :3], axis=1, keepdims=True)
        fn = steps.get(cosine(it, total))
        err = fn(x, y)
        if it % 50 == 0:
            tf.print("it", it, "mse", err)

# EXPECT moving
# NOTE the validation dataset is finite but long: each of the two validations takes some 12 s.
import dataclasses

import numpy as np
import tensorflow as tf


@dataclasses.dataclass
class Config:
    features: int = 30
    batch: int = 64
    epochs: int = 2
    steps: int = 25
    lr: float = 1e-3


def slow_identity(x, y):
    import time
    time.sleep(0.3)
    return x, y


class Experiment:
    def __init__(self, cfg: Config):
        self.cfg = cfg
        rng = np.random.default_rng(11)
        self.w = rng.normal(size=(cfg.features, 1)).astype("float32")

    def _pipeline(self, n, seed, training):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, self.cfg.features)).astype("float32")
        y = x @ self.w
        ds = tf.data.Dataset.from_tensor_slices((x, y))
        if training:
            return ds.shuffle(1024).repeat().batch(self.cfg.batch).prefetch(tf.data.AUTOTUNE)

        def wait(a, b):
            a2, b2 = tf.numpy_function(slow_identity, [a, b], [tf.float32, tf.float32])
            return tf.ensure_shape(a2, [None, self.cfg.features]), tf.ensure_shape(b2, [None, 1])

        return ds.batch(self.cfg.batch).map(wait).prefetch(1)

    def run(self):
        train_ds = self._pipeline(2000, 1, training=True)
        val_ds = self._pipeline(2560, 2, training=False)
        model = tf.keras.Sequential([
            tf.keras.Input((self.cfg.features,)),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(1),
        ])
        model.compile(tf.keras.optimizers.Adam(self.cfg.lr), "mse")
        return model.fit(train_ds, validation_data=val_ds, steps_per_epoch=self.cfg.steps, epochs=self.cfg.epochs)


if __name__ == "__main__":
    hist = Experiment(Config()).run()
    print({k: v[-1] for k, v in hist.history.items()})

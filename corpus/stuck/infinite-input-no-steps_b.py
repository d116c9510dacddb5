# EXPECT stuck=infinite-input-no-steps line=42 also=31
# NOTE training has steps_per_epoch, but the validation dataset is repeated without end and validation_steps is missing, so the first validation never ends. (Also fair: line 31.)
import dataclasses

import numpy as np
import tensorflow as tf


@dataclasses.dataclass
class Config:
    features: int = 30
    batch: int = 64
    epochs: int = 4
    steps: int = 25
    lr: float = 1e-3


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
            ds = ds.shuffle(1024)
        return ds.repeat().batch(self.cfg.batch).prefetch(tf.data.AUTOTUNE)

    def run(self):
        train_ds = self._pipeline(2000, 1, training=True)
        val_ds = self._pipeline(400, 2, training=False)
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

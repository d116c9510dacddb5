"""Fits inside a method of a trainer class.
Expect: kind=fit, steps=2*n, input=tf.data, wait=measured
"""

import sys
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf


@dataclass
class Config:
    batches: int
    batch_size: int = 24
    epochs: int = 2


class Trainer:
    def __init__(self, config):
        self.config = config
        self.model = keras.Sequential(
            [keras.layers.Dense(512, "relu"), keras.layers.Dense(512), keras.layers.Dense(1)]
        )
        self.model.compile(optimizer="adam", loss="huber")

    @property
    def dataset(self):
        count = self.config.batches * self.config.batch_size
        x = np.random.default_rng(0).normal(size=(count, 20)).astype("float32")
        data = tf.data.Dataset.from_tensor_slices((x, x[:, 0]))
        return data.batch(self.config.batch_size).prefetch(2)

    def run(self):
        options = {"epochs": self.config.epochs, "verbose": 0}
        return self.model.fit(self.dataset, **options)  # the loop


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    Trainer(Config(n)).run()

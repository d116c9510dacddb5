# EXPECT: Trainer.train_step runs forward, GradientTape and optimizer eagerly (no tf.function); the GRU's time steps go op by op through Python
# TWIST: none
from __future__ import annotations

import abc
import os
import time
from dataclasses import dataclass
from typing import Dict, List, Tuple

import numpy as np
import tensorflow as tf

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "21_trainer_gru", "waves.npz")


@dataclass(frozen=True)
class TrainConfig:
    seq_len: int = 16
    units: int = 16
    batch_size: int = 32
    epochs: int = 4
    learning_rate: float = 5e-3
    clip_norm: float = 1.0
    seed: int = 7


def synth_waves(path: str, n: int = 1600, length: int = 16) -> None:
    rng = np.random.default_rng(41)
    phase, freq = rng.uniform(0, 6.28, (n, 1)), rng.uniform(0.2, 0.9, (n, 1))
    t = np.arange(length + 1)[None]
    waves = np.sin(freq * t + phase) + 0.05 * rng.standard_normal((n, length + 1))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    np.savez(path, x=waves[:, :-1, None].astype("float32"), y=waves[:, -1:].astype("float32"))


class TrainerBase(abc.ABC):
    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.model = self.build_model()
        self.optimizer = self.build_optimizer()
        self.logs: List[Dict[str, float]] = []

    @abc.abstractmethod
    def build_model(self) -> tf.keras.Model: ...

    @abc.abstractmethod
    def compute_loss(self, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor: ...

    def build_optimizer(self) -> tf.keras.optimizers.Optimizer:
        return tf.keras.optimizers.Adam(self.config.learning_rate)

    def train_step(self, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y)
        variables = self.model.trainable_variables
        grads, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), self.config.clip_norm)
        self.optimizer.apply_gradients(zip(grads, variables))
        return loss

    def fit(self, dataset: tf.data.Dataset) -> None:
        for epoch in range(self.config.epochs):
            began = time.perf_counter()
            mean = tf.keras.metrics.Mean()
            for x, y in dataset:
                mean.update_state(self.train_step(x, y))
            entry = {"epoch": epoch, "loss": float(mean.result()), "secs": time.perf_counter() - began}
            self.logs.append(entry)
            print(" | ".join(f"{k}={v:.4g}" for k, v in entry.items()))


class GRUTrainer(TrainerBase):
    def build_model(self) -> tf.keras.Model:
        inputs = tf.keras.Input((self.config.seq_len, 1))
        h = tf.keras.layers.GRU(self.config.units)(inputs)
        return tf.keras.Model(inputs, tf.keras.layers.Dense(1)(h))

    def compute_loss(self, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.square(y - self.model(x, training=True)))


def load(config: TrainConfig) -> tf.data.Dataset:
    if not os.path.exists(DATA):
        synth_waves(DATA)
    with np.load(DATA) as z:
        pair: Tuple[np.ndarray, np.ndarray] = (z["x"], z["y"])
    return tf.data.Dataset.from_tensor_slices(pair).shuffle(2000, seed=config.seed).batch(config.batch_size)


if __name__ == "__main__":
    cfg = TrainConfig()
    tf.keras.utils.set_random_seed(cfg.seed)
    trainer = GRUTrainer(cfg)
    trainer.fit(load(cfg))
    print("best:", min(e["loss"] for e in trainer.logs))

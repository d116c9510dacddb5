# EXPECT cause=per-step-host-copy file=train.py line=19
# WHY next_batch() stacks, converts and copies 17 MB of CT voxels on the host before each step
"""Lung nodule yes/no from small CT crops; all crops fit in memory."""
import time

import numpy as np
import tensorflow as tf


class CropStore:
    def __init__(self, n: int, batch: int):
        self.rng = np.random.default_rng(60)
        self.scans = [self.rng.integers(-1000, 1000, (24, 48, 48, 1), dtype=np.int16) for _ in range(n)]
        self.nodule = self.rng.integers(0, 2, (n, 1)).astype("float32")
        self.batch = batch

    def next_batch(self):
        picks = self.rng.choice(len(self.scans), self.batch, replace=False)
        voxels = tf.convert_to_tensor(np.stack([self.scans[i] for i in picks]).astype("float32") / 2048.0)
        return voxels, tf.convert_to_tensor(self.nodule[picks])


class NoduleTrainer:
    def __init__(self, store: CropStore):
        self.store = store
        self.net = tf.keras.Sequential([
            tf.keras.layers.Input((24, 48, 48, 1)),
            tf.keras.layers.Conv3D(4, (6, 12, 12), strides=(6, 12, 12), activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(1),
        ])
        self.opt = tf.keras.optimizers.SGD(1e-3)
        self.opt.build(self.net.trainable_variables)

    @tf.function
    def _update(self, x, y):
        with tf.GradientTape() as tape:
            z = self.net(x, training=True)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=z))
        w = self.net.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, w), w))
        return loss

    def train(self, steps: int, report: int = 100):
        for k in range(1, steps + 1):
            loss = self._update(*self.store.next_batch())
            if k % report == 0:
                print(f"step {k}: loss {float(loss):.4f}")


if __name__ == "__main__":
    trainer = NoduleTrainer(CropStore(n=600, batch=80))
    t0 = time.perf_counter()
    trainer.train(steps=750)
    print(f"training took {time.perf_counter() - t0:.1f} s")

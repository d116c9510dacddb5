# EXPECT first=missing-tf-function file=train.py line=31 second=per-step-host-copy
# WHY the update runs op by op without tf.function and costs most; each step also stacks and copies 15 MB of NumPy frames
"""Next-frame brightness on tiny video clips."""
import time

import numpy as np
import tensorflow as tf

L = tf.keras.layers


class Clips:
    def __init__(self, n):
        self.rng = np.random.default_rng(307)
        self.items = [self.rng.integers(0, 255, (10, 48, 48, 1), dtype=np.uint8) for _ in range(n)]

    def sample(self, k):
        pick = self.rng.integers(0, len(self.items), k)
        clips = np.stack([self.items[i] for i in pick]).astype("float32") / 255.0
        return tf.convert_to_tensor(clips), tf.convert_to_tensor(clips[:, -1].mean((1, 2)))


class Learner:
    def __init__(self):
        self.net = tf.keras.Sequential([tf.keras.Input((10, 48, 48, 1)), L.AveragePooling3D((1, 8, 8)), L.Flatten()]
                                       + [L.Dense(48, activation="relu") for _ in range(4)] + [L.Dense(1)])
        self.opt = tf.keras.optimizers.Adam(1e-3)
        self.opt.build(self.net.trainable_variables)

    def update(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.net(x, training=True) - y))
        v = self.net.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, v), v))
        return loss


clips, learner = Clips(400), Learner()
t0 = time.perf_counter()
for k in range(240):
    loss = learner.update(*clips.sample(160))
    if k % 50 == 0:
        print(k, float(loss))
print(f"training took {time.perf_counter() - t0:.1f} s")

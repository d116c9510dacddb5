# EXPECT none
# NOTE predict once per epoch in a callback, and once per model of a list; both over the whole set
# SEEN ran (rc 0); TensorFlow's retracing warning appears because three models predict one after the other: harmless
"""Watch how the decision border moves during training."""
import os
import tempfile

import numpy as np
import keras
from keras import callbacks, layers

keras.utils.set_random_seed(14)


def moons(n, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.uniform(0, np.pi, n // 2)
    up = np.c_[np.cos(a), np.sin(a)]
    down = np.c_[1 - np.cos(a), 0.5 - np.sin(a)]
    x = np.r_[up, down] + rng.normal(0, noise, (n, 2))
    y = np.r_[np.zeros(n // 2), np.ones(n // 2)]
    p = rng.permutation(n)
    return x[p].astype("float32"), y[p].astype("float32")


class BorderRecorder(callbacks.Callback):
    """Stores the network's output on a grid after each epoch."""

    def __init__(self, grid, folder):
        super().__init__()
        self.grid = grid
        self.folder = folder

    def on_epoch_end(self, epoch, logs=None):
        z = self.model.predict(self.grid, batch_size=4096, verbose=0)
        np.save(os.path.join(self.folder, f"border_{epoch:03d}.npy"), z)


def mlp(width, depth, name):
    m = keras.Sequential(name=name)
    m.add(keras.Input((2,)))
    for _ in range(depth):
        m.add(layers.Dense(width, activation="tanh"))
    m.add(layers.Dense(1, activation="sigmoid"))
    m.compile(optimizer=keras.optimizers.Adam(1e-2), loss="binary_crossentropy", metrics=["accuracy"])
    return m


x, y = moons(1000)
x_test, y_test = moons(300, seed=1)
xx, yy = np.meshgrid(np.linspace(-1.5, 2.5, 40), np.linspace(-1, 1.5, 40))
grid = np.c_[xx.ravel(), yy.ravel()].astype("float32")

members = [mlp(8, 1, "small"), mlp(16, 2, "middle"), mlp(32, 3, "large")]
with tempfile.TemporaryDirectory() as out:
    for net in members:
        folder = os.path.join(out, net.name)
        os.makedirs(folder)
        net.fit(x, y, batch_size=50, epochs=3, verbose=0, callbacks=[BorderRecorder(grid, folder)])
        print(net.name, len(os.listdir(folder)), "borders")

# the committee votes
votes = np.zeros(len(x_test))
for net in members:
    p = net.predict(x_test, batch_size=300, verbose=0)[:, 0]
    print(f"{net.name:8s} accuracy {np.mean((p > 0.5) == y_test):.3f}")
    votes += p
print(f"committee accuracy {np.mean((votes / len(members) > 0.5) == y_test):.3f}")

# rows of the result are looked at one by one, but predicted together
scores = members[-1].predict(x_test, verbose=0)
for point, score in zip(x_test[:5], scores[:5]):
    print(point, "->", round(float(score[0]), 3))

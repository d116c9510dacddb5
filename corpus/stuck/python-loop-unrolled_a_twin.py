# EXPECT moving
# NOTE an ordinary but deep network (a loop over residual blocks): tracing takes some 8 s, then it trains.
import numpy as np
import tensorflow as tf
import keras


class DeepMLP(keras.Model):
    """Pre-norm residual MLP."""

    def __init__(self, hidden=32, depth=12):
        super().__init__()
        self.stem = keras.layers.Dense(hidden)
        self.blocks = []
        for _ in range(depth):
            self.blocks.append((
                keras.layers.LayerNormalization(),
                keras.layers.Dense(hidden * 2, activation="gelu"),
                keras.layers.Dropout(0.1),
                keras.layers.Dense(hidden),
            ))
        self.head = keras.layers.Dense(2)

    def call(self, z, training=False):
        z = self.stem(z)
        for norm, up, drop, down in self.blocks:
            h = drop(up(norm(z)), training=training)
            z = z + down(h)
        return self.head(z)


def pendulum_pairs(n):
    rng = np.random.default_rng(0)
    start = rng.uniform(-1, 1, size=(n, 2)).astype("float32")
    c, s = np.cos(2.0), np.sin(2.0)
    return start, (start @ np.array([[c, -s], [s, c]])).astype("float32")


x, y = pendulum_pairs(4096)
net = DeepMLP()
net.compile(optimizer=keras.optimizers.Adam(1e-2), loss="mse")
print("fit")
net.fit(x, y, batch_size=32, epochs=2)

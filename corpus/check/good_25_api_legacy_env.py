# EXPECT none
# NOTE TF_USE_LEGACY_KERAS=1 is set before TensorFlow is imported: tf.keras is Keras 2 (package tf_keras), where fit(workers=), optimizers.legacy with decay= and save(folder, save_format="tf") are right
# SEEN fine with tf_keras 2.21 on the path (private folder)
"""Legacy model kept on Keras 2 until the migration in spring (needs `pip install tf_keras`)."""
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import tempfile

import numpy as np
import tensorflow as tf


class Rows(tf.keras.utils.Sequence):
    def __init__(self, x, y, n):
        self.x, self.y, self.n = x, y, n

    def __len__(self):
        return len(self.x) // self.n

    def __getitem__(self, i):
        return self.x[i * self.n:(i + 1) * self.n], self.y[i * self.n:(i + 1) * self.n]


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 3)).astype("float32")
    y = x.sum(1, keepdims=True)
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(8, activation="relu", input_shape=(3,)),
        tf.keras.layers.Dense(1),
    ])
    model.compile(tf.keras.optimizers.legacy.Adam(1e-2, decay=1e-4), "mse")
    model.fit(Rows(x, y, 16), epochs=2, workers=2, max_queue_size=4)
    model.save(os.path.join(tempfile.mkdtemp(), "regressor"), save_format="tf")


if __name__ == "__main__":
    main()

import tempfile

import numpy as np
import tensorflow as tf
import keras

from hooks import RunLog
from vae import VAE

SIZE = 40


def parts(n):
    rng = np.random.default_rng(0)
    yy, xx = np.mgrid[:SIZE, :SIZE]
    c = rng.uniform(14, 26, (n, 2, 1, 1))
    r = rng.uniform(5, 12, (n, 1, 1))
    d = np.sqrt((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2)
    return (np.exp(-((d - r) ** 2) / 6))[..., None].astype("float32")


def main():
    keras.utils.set_random_seed(0)
    ds = tf.data.Dataset.from_tensor_slices(parts(768)).cache().shuffle(768).batch(32).prefetch(2)
    model = VAE(SIZE)
    model(tf.zeros((1, SIZE, SIZE, 1)))
    model.compile(optimizer=keras.optimizers.Adam(1e-3))
    with tempfile.TemporaryDirectory() as folder:
        model.fit(ds, epochs=8, verbose=2, callbacks=[RunLog(folder)])


if __name__ == "__main__":
    main()

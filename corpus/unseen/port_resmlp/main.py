import numpy as np
import tensorflow as tf
import keras

from modules import ResMLP
from trainer import Trainer


def make_loader(n=1600, d=20, batch_size=32):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, d)).astype("float32")
    w = rng.standard_normal((d, 4))
    y = np.argmax(x @ w, axis=1).astype("int32")
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    return ds.shuffle(n, seed=0).batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


if __name__ == "__main__":
    keras.utils.set_random_seed(1)
    Trainer(ResMLP()).fit(make_loader(), epochs=2)

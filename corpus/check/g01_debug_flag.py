# EXPECT none
# NOTE run_eagerly only with --debug (store_true, off by default)
# SEEN ran to the end (rc 0), no complaint of its own
"""Predict house prices.  `--debug` lets you set breakpoints in the loss."""
import argparse
import logging

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

logger = logging.getLogger(__name__)


def get_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--debug", action="store_true", help="run op by op")
    return parser.parse_args(argv)


def houses(n, seed):
    rng = np.random.default_rng(seed)
    area = rng.uniform(30, 250, n)
    rooms = np.round(area / 25 + rng.normal(0, 1, n)).clip(1, 12)
    age = rng.uniform(0, 100, n)
    price = 2.5 * area + 10 * rooms - 0.6 * age + rng.normal(0, 10, n)
    x = np.stack([area, rooms, age], axis=1).astype("float32")
    return x, (price / 100).astype("float32")


class LogCoshPlus(keras.losses.Loss):
    """log-cosh with a penalty for negative prices."""

    def __init__(self, penalty=0.1, **kwargs):
        super().__init__(**kwargs)
        self.penalty = penalty

    def call(self, y_true, y_pred):
        y_true = tf.reshape(y_true, tf.shape(y_pred))
        err = y_pred - y_true
        base = err + tf.nn.softplus(-2.0 * err) - tf.math.log(2.0)
        return tf.reduce_mean(base + self.penalty * tf.nn.relu(-y_pred), axis=-1)


def build(normalizer):
    inp = keras.Input((3,))
    h = normalizer(inp)
    h = layers.Dense(32, activation="relu")(h)
    h = layers.Dense(32, activation="relu")(h)
    return keras.Model(inp, layers.Dense(1)(h))


def main():
    args = get_args()
    logging.basicConfig(level=logging.DEBUG if args.debug else logging.INFO)
    if args.debug:
        tf.config.run_functions_eagerly(True)
        tf.data.experimental.enable_debug_mode()
    keras.utils.set_random_seed(1)

    x, y = houses(2000, seed=1)
    xv, yv = houses(400, seed=2)
    normalizer = layers.Normalization()
    normalizer.adapt(x)

    model = build(normalizer)
    model.compile(
        optimizer=keras.optimizers.Adam(args.lr),
        loss=LogCoshPlus(),
        metrics=["mae"],
        run_eagerly=args.debug,
    )
    model.fit(x, y, batch_size=64, epochs=args.epochs, validation_data=(xv, yv), verbose=2)
    logger.info("mae %.3f", model.evaluate(xv, yv, verbose=0)[1])


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# EXPECT: after each (tf.function) step the loop calls float() on the loss, on eager tf.norm of every gradient and every weight and on metric.result(), then writes a log line: many tiny eager ops and syncs per step
# TWIST: none
"""Study of gradient norms in a small tanh network (one log line per step)."""
import argparse
import os
import sys
import time

import keras
import numpy as np
import tensorflow as tf
from skimage import data


def cli():
    p = argparse.ArgumentParser()
    p.add_argument("-e", "--epochs", default=8, type=int)
    p.add_argument("-b", "--batch", default=20, type=int)
    p.add_argument("-d", "--depth", default=4, type=int)
    p.add_argument("--every", default=50, type=int, help="print to console every N steps")
    return p.parse_args()


def dataset(folder, n=6000):
    f = os.path.join(folder, "coords.npz")
    if not os.path.exists(f):
        # learn intensity as function of the position in the photograph
        os.makedirs(folder, exist_ok=True)
        rng = np.random.default_rng(77)
        im = data.moon().astype("float32") / 255
        rc = rng.integers(0, 512, size=(n, 2))
        np.savez(f, x=(rc / 256 - 1).astype("float32"), y=im[rc[:, 0], rc[:, 1]][:, None])
    z = np.load(f)
    return z["x"], z["y"]


def main():
    a = cli()
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "26_grad_norm_logger")
    x, y = dataset(folder)
    keras.utils.set_random_seed(8)
    layers = [keras.Input((2,))]
    layers += [keras.layers.Dense(24, activation="tanh", name=f"h{i}") for i in range(a.depth)]
    layers += [keras.layers.Dense(1, name="out")]
    model = keras.Sequential(layers)
    opt = keras.optimizers.Adam(1e-3)
    mse = keras.losses.MeanSquaredError()
    mae = keras.metrics.MeanAbsoluteError()

    @tf.function
    def step(xb, yb):
        with tf.GradientTape() as tape:
            out = model(xb, training=True)
            loss = mse(yb, out)
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        mae.update_state(yb, out)
        return loss, grads

    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x), seed=2).batch(a.batch, drop_remainder=True)
    log = open(os.path.join(folder, "norms.log"), "w")
    t0 = time.time()
    n = 0
    for epoch in range(a.epochs):
        mae.reset_state()
        for xb, yb in ds:
            loss, grads = step(xb, yb)
            n += 1
            row = [float(n), float(loss), float(mae.result())]
            for g, v in zip(grads, model.trainable_variables):
                row.append(float(tf.norm(g)))
                row.append(float(tf.norm(v.value)))
            print("\t".join("%.6g" % r for r in row), file=log, flush=True)
            if n % a.every == 0:
                print("step %5d  loss %.5f  mae %.5f" % tuple(row[:3]))
        print("== epoch", epoch + 1, "mae %.5f" % float(mae.result()), "time %.1fs" % (time.time() - t0))
    log.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

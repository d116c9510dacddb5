# EXPECT none
# NOTE bfloat16 has float32's exponent range: no loss scaling needed; a mixed_float16 string exists only as a refused choice
# SEEN fine, exit 0; last line: final 0.03656058385968208
import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras

POLICIES = {"bf16": "mixed_bfloat16", "fp32": "float32"}


def parse_args(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--precision", default="bf16", choices=sorted(POLICIES))
    p.add_argument("--steps", type=int, default=80)
    return p.parse_args(argv)


def build():
    return keras.Sequential([
        keras.Input((6,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(1, dtype="float32"),
    ])


def main():
    args = parse_args()
    policy = POLICIES[args.precision]
    if policy == "mixed_float16":
        raise SystemExit("this loop does not scale its loss")
    keras.mixed_precision.set_global_policy(policy)

    model = build()
    opt = keras.optimizers.Adam(1e-2)
    opt.build(model.trainable_variables)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(128, 6)).astype("float32")
    y = x @ rng.normal(size=(6, 1)).astype("float32")
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(128).repeat().batch(32)

    @tf.function
    def step(a, b):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(a, training=True) - b) ** 2)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    for i, (a, b) in enumerate(ds.take(args.steps)):
        loss = step(a, b)
    print("final", float(loss))


if __name__ == "__main__":
    main()

# EXPECT unscaled-float16-loss line=52
# NOTE mixed_float16 and a GradientTape loop without any loss scaling: the loss is a mean over 64*96*96 pixels, so the gradients of the activations underflow in float16
# SEEN runs; gradient norm of the first kernel 1.4e-4 where the same script in float32 has 3.8e-3 (27 times too small by underflow)
import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


def build_model(filters):
    inp = keras.Input((96, 96, 1))
    h = inp
    for _ in range(3):
        h = layers.Conv2D(filters, 3, padding="same", activation="relu")(h)
    logits = layers.Conv2D(1, 1, dtype="float32")(h)
    return keras.Model(inp, logits)


def squares(n=128):
    rng = np.random.default_rng(0)
    mask = np.zeros((n, 96, 96, 1), "float32")
    for m in mask:
        r, c = rng.integers(0, 60, 2)
        m[r:r + 30, c:c + 30] = 1
    return (0.1 * mask + rng.normal(0, 0.02, mask.shape)).astype("float32"), mask


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--fp16", dest="fp16", action="store_true", default=True)
    ap.add_argument("--filters", type=int, default=8)
    args = ap.parse_args()

    keras.utils.set_random_seed(0)
    if args.fp16:
        keras.mixed_precision.set_global_policy("mixed_float16")

    model = build_model(args.filters)
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)
    x, y = squares()
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x), seed=0).batch(64)

    @tf.function
    def step(xb, yb):
        with tf.GradientTape() as tape:
            logits = model(xb, training=True)
            loss = loss_fn(yb, logits)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss, tf.norm(grads[0])

    for epoch in range(args.epochs):
        for xb, yb in ds:
            loss, norm = step(xb, yb)
            print(epoch, f"loss {float(loss):.5f}, gradient of the first kernel {float(norm):.3e}")


if __name__ == "__main__":
    main()

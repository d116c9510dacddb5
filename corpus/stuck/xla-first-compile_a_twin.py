# EXPECT moving
# NOTE the same kind of network, much smaller: XLA compiles it in some 5-8 s.
import argparse

import numpy as np
import tensorflow as tf

L = tf.keras.layers


def dense_block(x, n, growth):
    for i in range(n):
        y = L.BatchNormalization()(x)
        y = L.ReLU()(y)
        y = L.Conv2D(4 * growth, 1, use_bias=False)(y)
        y = L.BatchNormalization()(y)
        y = L.ReLU()(y)
        y = L.Conv2D(growth, 3, padding="same", use_bias=False)(y)
        x = L.Concatenate()([x, y])
    return x


def densenet(blocks, growth=6, classes=10):
    inp = L.Input((24, 24, 3))
    x = L.Conv2D(2 * growth, 3, padding="same")(inp)
    for n in blocks:
        x = dense_block(x, n, growth)
        x = L.Conv2D(x.shape[-1] // 2, 1)(x)
        x = L.AveragePooling2D(2)(x)
    x = L.Reshape((-1, x.shape[-1]))(x)
    x = L.GRU(12, unroll=True)(x)
    return tf.keras.Model(inp, L.Dense(classes)(x))


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--blocks", default="1,0,0")
    p.add_argument("--no-xla", action="store_true")
    return p.parse_args()


def main():
    args = parse()
    model = densenet([int(b) for b in args.blocks.split(",")])
    model.compile(
        optimizer="sgd",
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=not args.no_xla,
    )
    x = np.random.rand(64, 24, 24, 3).astype("float32")
    y = np.random.randint(0, 10, 64)
    model.fit(x, y, batch_size=8, epochs=10)


if __name__ == "__main__":
    main()

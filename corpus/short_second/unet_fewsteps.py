"""Road segmentation; large tiles, few steps."""
import argparse
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers as L

ap = argparse.ArgumentParser()
ap.add_argument("--tiles", type=int, default=96)
ap.add_argument("--size", type=int, default=160)
ap.add_argument("--batch", type=int, default=12)
args = ap.parse_args()


def conv(x, f):
    for _ in range(2):
        x = L.Conv2D(f, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.ReLU()(x)
    return x


inp = L.Input((args.size, args.size, 3))
skips, x = [], inp
for f in (16, 32, 64):
    x = conv(x, f)
    skips.append(x)
    x = L.MaxPooling2D()(x)
x = conv(x, 128)
for f, s in zip((64, 32, 16), reversed(skips)):
    x = L.Conv2DTranspose(f, 2, strides=2)(x)
    x = conv(L.Concatenate()([x, s]), f)
unet = tf.keras.Model(inp, L.Conv2D(1, 1, activation="sigmoid")(x))

rng = np.random.default_rng(4)
tiles = rng.random((args.tiles, args.size, args.size, 3), dtype="float32")
roads = (tiles.mean(-1, keepdims=True) > 0.5).astype("float32")

ds = tf.data.Dataset.from_tensor_slices((tiles, roads)).shuffle(args.tiles).batch(args.batch).prefetch(2)
unet.compile(optimizer="adam", loss="binary_crossentropy")
unet.fit(ds, epochs=1, verbose=2)

# EXPECT tfmot-keras3 line=29
# NOTE tensorflow.keras is really loaded (Keras 3) by the `from tensorflow.keras…` lines before tfmot sets TF_USE_LEGACY_KERAS; the functional model is refused
# SEEN run with tfmot 0.8.1 + tf_keras 2.21 in a private folder: ValueError: `to_quantize` can only either be a keras Sequential or Functional model
import argparse
import pathlib
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Model
from tensorflow.keras.layers import Conv2D, Dense, GlobalAveragePooling2D, ReLU

import tensorflow_model_optimization as tfmot


def backbone(x, filters):
    for f in filters:
        x = Conv2D(f, 3, strides=2, padding="same")(x)
        x = ReLU()(x)
    return GlobalAveragePooling2D()(x)


def make_model(side, classes):
    inp = Input((side, side, 3))
    return Model(inp, Dense(classes)(backbone(inp, (8, 16))))


def quantise(model):
    q_aware = tfmot.quantization.keras.quantize_model(model)
    q_aware.compile(
        optimizer="adam",
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return q_aware


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--side", type=int, default=16)
    ap.add_argument("--out", default=tempfile.mkdtemp())
    args = ap.parse_args()

    rng = np.random.default_rng(0)
    x = rng.uniform(size=(64, args.side, args.side, 3)).astype("float32")
    y = rng.integers(0, 3, 64)
    model = make_model(args.side, 3)
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, y, epochs=1, verbose=2)

    q = quantise(model)
    q.fit(x, y, epochs=1, verbose=2)
    converter = tf.lite.TFLiteConverter.from_keras_model(q)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    pathlib.Path(args.out, "model.tflite").write_bytes(converter.convert())


if __name__ == "__main__":
    main()

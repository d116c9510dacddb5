# EXPECT shuffle-autotune line=41
# NOTE the dict says "auto" for both; a small resolver turns "auto" into AUTOTUNE also for the shuffle buffer
# SEEN tensorflow.python.framework.errors_impl.InvalidArgumentError: {{function_node __wrapped__ShuffleDatasetV3_device_/job:localhost/replica:0/task:0/device:CPU:0}} buffer_size must be greater than zero or
"""Train a tabular model; every knob sits in one dictionary."""
import argparse
import json

import keras
import numpy as np
import tensorflow as tf
from keras import layers as L

DEFAULTS = {
    "batch": 16,
    "epochs": 2,
    "lr": 1e-3,
    "pipeline": {"workers": "auto", "buffer": "auto", "ahead": "auto"},
}


def resolve(value):
    """`"auto"` lets tf.data choose."""
    return tf.data.experimental.AUTOTUNE if value == "auto" else int(value)


def standardise(mean, std):
    def fn(row, target):
        return (row - mean) / std, target

    return fn


def make_dataset(rows, targets, conf, training):
    pipe = {k: resolve(v) for k, v in conf["pipeline"].items()}
    ds = tf.data.Dataset.from_tensor_slices((rows, targets))
    ds = ds.map(
        standardise(rows.mean(0), rows.std(0) + 1e-6),
        num_parallel_calls=pipe["workers"],
    )
    if training:
        ds = ds.shuffle(buffer_size=pipe["buffer"])
    return ds.batch(conf["batch"]).prefetch(pipe["ahead"])


def build(width, lr):
    inputs = keras.Input((6,))
    h = L.Dense(width, activation="relu")(inputs)
    h = L.Dropout(0.1)(h)
    out = L.Dense(1)(h)
    model = keras.Model(inputs, out)
    model.compile(keras.optimizers.Adam(lr), loss="mse")
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default=None)
    parser.add_argument("--width", type=int, default=16)
    args = parser.parse_args()

    conf = dict(DEFAULTS)
    if args.config:
        with open(args.config) as fh:
            conf.update(json.load(fh))

    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 6)).astype("float32")
    targets = rows.sum(1, keepdims=True)
    train = make_dataset(rows[:160], targets[:160], conf, training=True)
    test = make_dataset(rows[160:], targets[160:], conf, training=False)

    model = build(args.width, conf["lr"])
    model.fit(train, epochs=conf["epochs"], verbose=2)
    print(model.evaluate(test, verbose=0))


if __name__ == "__main__":
    main()

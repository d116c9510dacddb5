"""Fits inside a function that a function calls.
Expect: kind=fit, steps=3*n, input=tf.data, wait=measured
"""

import argparse

import keras
import numpy as np
import tensorflow as tf


def build_model(units):
    model = keras.Sequential(
        [keras.layers.Dense(units, "relu"), keras.layers.Dense(256), keras.layers.Dense(2)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(1e-3), loss=loss, metrics=["accuracy"])
    return model


def build_data(batches, batch_size=32):
    x = np.random.default_rng(0).normal(size=(batches * batch_size, 40)).astype("float32")
    y = (x[:, 0] > 0).astype("int32")
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(512).batch(batch_size)


def train(model, data, epochs):
    return model.fit(data, epochs=epochs, verbose=0)  # the loop


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("batches", nargs="?", type=int, default=30)
    options = parser.parse_args(arguments)
    history = train(build_model(1024), build_data(options.batches), epochs=3)
    print("accuracy", history.history["accuracy"][-1])


if __name__ == "__main__":
    main()

# EXPECT none
# NOTE judgement call: compile of the same model in a loop, but over two training phases (head, then fine-tuning) with other trainable layers: Keras demands a compile after changing `trainable`; each phase fits several epochs
# SEEN ran (rc 0) with weights=None in place of the download
"""Transfer learning in two phases."""
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from tensorflow import keras

SHAPE = (96, 96, 3)


@dataclass
class Phase:
    name: str
    unfreeze_from: int | None
    lr: float
    epochs: int


PHASES = [
    Phase("head", None, 1e-3, 2),
    Phase("fine-tune", -20, 1e-5, 2),
]


def images(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    x = rng.uniform(0, 120, (n, *SHAPE))
    x[np.arange(n), :, :, y] += 100
    return x.astype("float32"), y


def dataset(x, y, training=False):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    if training:
        ds = ds.shuffle(len(x))
    return ds.batch(20).prefetch(tf.data.AUTOTUNE)


def build():
    base = keras.applications.MobileNetV2(
        input_shape=SHAPE, include_top=False, weights="imagenet", alpha=0.35
    )
    inp = keras.Input(SHAPE)
    h = keras.layers.Rescaling(1 / 127.5, offset=-1)(inp)
    h = base(h, training=False)
    h = keras.layers.GlobalAveragePooling2D()(h)
    h = keras.layers.Dropout(0.2)(h)
    out = keras.layers.Dense(3, activation="softmax")(h)
    return keras.Model(inp, out), base


def set_trainable(base, unfreeze_from):
    base.trainable = unfreeze_from is not None
    if unfreeze_from is not None:
        for layer in base.layers[:unfreeze_from]:
            layer.trainable = False


def main():
    keras.utils.set_random_seed(3)
    train = dataset(*images(), training=True)
    val = dataset(*images(60, seed=1))
    model, base = build()
    done = 0
    for phase in PHASES:
        set_trainable(base, phase.unfreeze_from)
        model.compile(
            optimizer=keras.optimizers.Adam(phase.lr),
            loss="sparse_categorical_crossentropy",
            metrics=["accuracy"],
        )
        model.fit(
            train,
            validation_data=val,
            initial_epoch=done,
            epochs=done + phase.epochs,
            verbose=2,
        )
        done += phase.epochs
        print("finished", phase.name)


if __name__ == "__main__":
    main()

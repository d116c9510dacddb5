# EXPECT run-eagerly-on line=23
# NOTE run_eagerly travels through a dict of compile arguments; the line is the dict's entry (the compile(**COMPILE) call lies lower)
# SEEN ran (rc 0), op by op; measured apart: 400 small steps 19.6 s with run_eagerly=True, 1.7 s without
"""Garment classifier -- homework 3, Deep Learning lab.

Data: synthetic 28x28 "garments" so that the script works offline.
"""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

SEED = 7
NUM_CLASSES = 4
BATCH = 64

keras.utils.set_random_seed(SEED)

COMPILE = {
    "optimizer": keras.optimizers.Adam(1e-3),
    "loss": "sparse_categorical_crossentropy",
    "metrics": ["accuracy"],
    "run_eagerly": True,
}


def make_garments(n, rng):
    """Every class has its own bright quadrant."""
    y = rng.integers(0, NUM_CLASSES, size=n)
    x = rng.normal(0.3, 0.1, size=(n, 28, 28, 1)).astype("float32")
    for i, label in enumerate(y):
        r, c = divmod(int(label), 2)
        x[i, r * 14:(r + 1) * 14, c * 14:(c + 1) * 14] += 0.4
    return np.clip(x, 0.0, 1.0), y.astype("int32")


def as_dataset(x, y, training):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    if training:
        ds = ds.shuffle(len(x), seed=SEED)
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


def build_model():
    inputs = keras.Input((28, 28, 1))
    h = layers.Conv2D(16, 3, activation="relu")(inputs)
    h = layers.MaxPooling2D()(h)
    h = layers.Conv2D(32, 3, activation="relu")(h)
    h = layers.GlobalAveragePooling2D()(h)
    h = layers.Dropout(0.2)(h)
    outputs = layers.Dense(NUM_CLASSES, activation="softmax")(h)
    return keras.Model(inputs, outputs, name="garments")


def main():
    rng = np.random.default_rng(SEED)
    x_train, y_train = make_garments(1024, rng)
    x_val, y_val = make_garments(256, rng)
    x_test, y_test = make_garments(256, rng)

    model = build_model()
    model.compile(**COMPILE)
    model.summary()

    history = model.fit(
        as_dataset(x_train, y_train, True),
        validation_data=as_dataset(x_val, y_val, False),
        epochs=2,
        callbacks=[keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)],
        verbose=2,
    )
    best = max(history.history["val_accuracy"])
    print(f"best validation accuracy: {best:.3f}")

    loss, acc = model.evaluate(as_dataset(x_test, y_test, False), verbose=0)
    print(f"test loss {loss:.3f}  accuracy {acc:.3f}")


if __name__ == "__main__":
    main()

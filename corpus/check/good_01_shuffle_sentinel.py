# EXPECT none
# NOTE AUTOTUNE is only the "choose for me" sentinel of the helper's parameter; it is replaced before it reaches shuffle
# SEEN fine, exit 0; last line: test accuracy 0.90625
import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Model
from tensorflow.keras.layers import Dense, Dropout

AUTOTUNE = tf.data.AUTOTUNE


def pipeline(x, y, batch=32, buffer=AUTOTUNE, train=True):
    """`buffer=AUTOTUNE` means: as large as the data, at most 10 000."""
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    if buffer == AUTOTUNE:
        buffer = min(len(x), 10_000)
    if train:
        ds = ds.shuffle(buffer)
    return ds.batch(batch).prefetch(AUTOTUNE)


def blobs(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n).astype("float32")
    x = rng.normal(size=(n, 4)).astype("float32") + 2 * y[:, None]
    return x, y[:, None]


def mlp(dropout=0.2):
    inp = Input((4,))
    h = Dense(16, activation="relu")(inp)
    h = Dropout(dropout)(h)
    return Model(inp, Dense(1, activation="sigmoid")(h))


if __name__ == "__main__":
    tf.keras.utils.set_random_seed(3)
    train = pipeline(*blobs(256, 0))
    test = pipeline(*blobs(64, 1), train=False)
    net = mlp()
    net.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    net.fit(train, epochs=20, verbose=0)
    loss, acc = net.evaluate(test, verbose=0)
    print("test accuracy", acc)

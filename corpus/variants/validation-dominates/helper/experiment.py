import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def load(seed=71):
    r = np.random.default_rng(seed)

    def series(n):
        x = r.standard_normal((n, 96, 7)).astype("float32").cumsum(1)
        return x, x[:, -1, :2]

    return series(1500), series(12000)


def net():
    return tf.keras.Sequential([
        tf.keras.Input((96, 7)),
        layers.Conv1D(32, 5, padding="causal", activation="relu"),
        layers.Conv1D(32, 5, padding="causal", dilation_rate=4, activation="relu"),
        layers.GlobalAveragePooling1D(),
        layers.Dense(2),
    ])


def train_model(train, test, epochs):
    model = net()
    model.compile("adam", "mae")
    stop = tf.keras.callbacks.EarlyStopping(patience=50)
    return model.fit(*train, validation_data=test, batch_size=50, epochs=epochs, callbacks=[stop], verbose=2).history

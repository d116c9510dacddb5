import numpy as np
import tensorflow as tf

L = tf.keras.layers


def network(depth):
    i = tf.keras.Input((16, 16, 8))
    h = i
    for _ in range(depth):
        h = L.Add()([h, L.Conv2D(8, 3, padding="same", activation="swish")(L.LayerNormalization()(h))])
    return tf.keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(h)))


def points(n):
    r = np.random.default_rng(34)
    x = r.normal(size=(n * 4, 16, 16, 8)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x[:, 0, 0, :1])).batch(4).prefetch(2)

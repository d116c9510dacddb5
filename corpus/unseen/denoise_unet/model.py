import tensorflow as tf
from tensorflow.keras import layers as L


def unet(size, base):
    i = L.Input((size, size, 1))
    a = L.Conv2D(base, 3, padding="same", activation="relu")(i)
    b = L.Conv2D(base * 2, 3, padding="same", activation="relu")(L.MaxPool2D()(a))
    c = L.Conv2D(base * 4, 3, padding="same", activation="relu")(L.MaxPool2D()(b))
    u = L.Conv2D(base * 2, 3, padding="same", activation="relu")(L.Concatenate()([L.UpSampling2D()(c), b]))
    v = L.Conv2D(base, 3, padding="same", activation="relu")(L.Concatenate()([L.UpSampling2D()(u), a]))
    return tf.keras.Model(i, L.Conv2D(1, 1)(v))

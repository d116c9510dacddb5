import tensorflow as tf
from tensorflow.keras import layers as L

from config import LATENT, SIZE


def generator():
    return tf.keras.Sequential([
        L.Input((LATENT,)),
        L.Dense(SIZE // 4 * SIZE // 4 * 32), L.Reshape((SIZE // 4, SIZE // 4, 32)), L.LeakyReLU(0.2),
        L.Conv2DTranspose(32, 4, strides=2, padding="same"), L.LeakyReLU(0.2),
        L.Conv2DTranspose(16, 4, strides=2, padding="same"), L.LeakyReLU(0.2),
        L.Conv2D(3, 3, padding="same", activation="tanh"),
    ], name="generator")


def discriminator():
    return tf.keras.Sequential([
        L.Input((SIZE, SIZE, 3)),
        L.Conv2D(16, 4, strides=2, padding="same"), L.LeakyReLU(0.2),
        L.Conv2D(32, 4, strides=2, padding="same"), L.LeakyReLU(0.2),
        L.Flatten(), L.Dense(1),
    ], name="discriminator")

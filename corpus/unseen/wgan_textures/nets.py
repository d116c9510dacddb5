import keras
from keras import layers


def make_generator(latent):
    return keras.Sequential([
        layers.Input((latent,)),
        layers.Dense(8 * 8 * 64, activation="relu"),
        layers.Reshape((8, 8, 64)),
        layers.Conv2DTranspose(64, 4, strides=2, padding="same", activation="relu"),
        layers.Conv2DTranspose(32, 4, strides=2, padding="same", activation="relu"),
        layers.Conv2D(1, 5, padding="same", activation="tanh"),
    ], name="generator")


def make_critic():
    return keras.Sequential([
        layers.Input((32, 32, 1)),
        layers.Conv2D(32, 5, strides=2, padding="same"),
        layers.LeakyReLU(0.2),
        layers.Conv2D(64, 5, strides=2, padding="same"),
        layers.LeakyReLU(0.2),
        layers.Conv2D(96, 5, strides=2, padding="same"),
        layers.LeakyReLU(0.2),
        layers.Flatten(),
        layers.Dense(1),
    ], name="critic")

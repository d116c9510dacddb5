import keras
from keras import layers


def generator(latent):
    return keras.Sequential(
        [keras.Input((latent,)), layers.Dense(32, activation="relu"), layers.Dense(2)],
        name="generator",
    )


def discriminator():
    return keras.Sequential(
        [
            keras.Input((2,)),
            layers.Dense(32),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Dense(1),
        ],
        name="discriminator",
    )

import keras
from keras import layers


def cell_classifier(classes=5):
    return keras.Sequential(
        [
            layers.Input((48, 48, 1)),
            layers.RandomFlip("horizontal"),
            layers.Conv2D(32, 3, activation="relu"),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(classes, activation="softmax"),
        ]
    )

import keras
from keras import layers


def counter_net():
    model = keras.Sequential(
        [
            keras.Input((50, 1)),
            layers.Conv1D(8, 5, activation="relu"),
            layers.Conv1D(8, 5, activation="relu"),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    return model

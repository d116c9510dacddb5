import keras

from windows import Windows


def train(rounds):
    data = Windows(count=48, workers=2)
    model = keras.Sequential([keras.Input((64, 8)), keras.layers.Conv1D(96, 5, activation="relu"), keras.layers.Conv1D(96, 5, activation="relu"),
                              keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(8)])
    model.compile("adam", "mae")
    opts = dict(epochs=rounds, verbose=2, steps_per_epoch=40)
    return model.fit(data, **opts).history["loss"]

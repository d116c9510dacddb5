import keras
from keras import layers as L


def mlp(shape, hidden=(64, 32), outputs=1, flatten=False):
    net = keras.Sequential([L.Input(shape)])
    if flatten:
        net.add(L.Flatten())
    for width in hidden:
        net.add(L.Dense(width, activation="relu"))
    net.add(L.Dense(outputs))
    return net

import keras
from keras import layers


def _mlp(widths, name):
    inp = keras.Input((10,))
    h = inp
    for w in widths:
        h = layers.Dense(w, activation="relu")(h)
    return keras.Model(inp, layers.Dense(3)(h), name=name)


def teacher_net():
    return _mlp([64, 64, 64], "teacher")


def student_net():
    return _mlp([16], "student")

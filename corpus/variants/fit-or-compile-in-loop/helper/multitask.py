import keras
from keras import layers as L


def build(steps, channels):
    i = keras.Input((steps, channels))
    h = i
    for w in (16, 16, 16):
        h = L.Conv1D(w, 3, padding="same")(h)
        h = L.Activation("relu")(L.LayerNormalization()(h))
    h = L.GlobalAveragePooling1D()(h)
    return keras.Model(i, {"wear": L.Dense(1, name="wear")(h), "fault": L.Dense(1, activation="sigmoid", name="fault")(h)})

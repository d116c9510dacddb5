from keras import Model, layers


def build_ecg_net(length, leads, classes):
    i = layers.Input((length, leads))
    h = i
    for width in (32, 64, 64):
        h = layers.Conv1D(width, 7, padding="same", activation="relu")(h)
    h = layers.GlobalAveragePooling1D()(h)
    return Model(i, layers.Dense(classes, activation="softmax")(h))

from keras import Input, Model, layers


def build():
    i = Input((64, 64, 3))
    x = layers.Conv2D(24, 3, padding="same", activation="relu", name="stem")(i)
    x = layers.Conv2D(32, 3, padding="same", activation="relu", name="conv2")(x)
    x = layers.MaxPooling2D(4)(x)
    x = layers.Conv2D(64, 3, activation="relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return Model(i, layers.Dense(4, activation="softmax")(x))

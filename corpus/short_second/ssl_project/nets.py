from keras import layers, Model, Input


def encoder(size=80):
    inp = Input((size, size, 3))
    x = inp
    for f in (16, 32, 64):
        x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    return Model(inp, x, name="encoder")


def autoencoder(enc):
    x = enc.output
    for f in (64, 32, 16):
        x = layers.Conv2DTranspose(f, 3, strides=2, padding="same", activation="relu")(x)
    return Model(enc.input, layers.Conv2D(3, 3, padding="same")(x), name="ae")


def classifier(enc, classes):
    x = layers.GlobalAveragePooling2D()(enc.output)
    x = layers.Dense(64, activation="relu")(x)
    return Model(enc.input, layers.Dense(classes, activation="softmax")(x), name="clf")

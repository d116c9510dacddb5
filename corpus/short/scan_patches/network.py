from keras import Model, layers


def tiny_unet(size):
    inp = layers.Input((size, size, 1))
    d1 = layers.Conv2D(12, 3, padding="same", activation="relu")(inp)
    p1 = layers.MaxPooling2D()(d1)
    d2 = layers.Conv2D(24, 3, padding="same", activation="relu")(p1)
    u1 = layers.UpSampling2D()(d2)
    cat = layers.Concatenate()([u1, d1])
    h = layers.Conv2D(12, 3, padding="same", activation="relu")(cat)
    out = layers.Conv2D(1, 1, activation="sigmoid")(h)
    return Model(inp, out, name="tiny_unet")

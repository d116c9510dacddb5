import keras
from keras import layers


def conv(x, f):
    x = layers.Conv2D(f, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(x)


def small_unet(size, widths=(8, 16)):
    inp = keras.Input((size, size, 3))
    x, skips = inp, []
    for w in widths:
        x = conv(x, w)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = conv(x, widths[-1] * 2)
    for w, s in zip(reversed(widths), reversed(skips)):
        x = layers.UpSampling2D()(x)
        x = conv(layers.Concatenate()([x, s]), w)
    return keras.Model(inp, layers.Conv2D(1, 1, activation="sigmoid")(x))

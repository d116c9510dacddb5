from keras import Input, Model
from keras import layers as L


def conv_block(x, filters, kernel=5):
    x = L.Conv1D(filters, kernel, padding="same", use_bias=False)(x)
    x = L.BatchNormalization()(x)
    x = L.ReLU()(x)
    return L.MaxPooling1D()(x)


def beat_net(length, n_classes):
    inp = Input((length, 1))
    x = inp
    for f in (8, 16, 32):
        x = conv_block(x, f)
    x = L.GlobalAveragePooling1D()(x)
    out = L.Dense(n_classes, activation="softmax")(x)
    return Model(inp, out, name="beat_net")

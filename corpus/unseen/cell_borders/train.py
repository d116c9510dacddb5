import keras
from keras import layers

from cells import make_cells
from losses import BorderCrossEntropy

SIZE = 96


def network():
    inp = keras.Input((SIZE, SIZE, 1))
    a = layers.Conv2D(8, 3, padding="same", activation="relu")(inp)
    b = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(a)
    c = layers.Conv2DTranspose(8, 2, strides=2, activation="relu")(b)
    out = layers.Conv2D(1, 3, padding="same", activation="sigmoid")(layers.Concatenate()([a, c]))
    return keras.Model(inp, out)


def main():
    keras.utils.set_random_seed(8)
    x, y = make_cells(224, SIZE)
    model = network()
    model.compile(optimizer=keras.optimizers.Adam(2e-3), loss=BorderCrossEntropy())
    model.fit(x, y, batch_size=16, epochs=10, verbose=2)


if __name__ == "__main__":
    main()

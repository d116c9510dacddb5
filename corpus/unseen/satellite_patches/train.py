import tempfile

import keras
from keras import layers

from archive import PatchSequence, write_archive

SIZE, BANDS = 48, 6


def build():
    inp = keras.Input((SIZE, SIZE, BANDS))
    x = layers.Conv2D(24, 3, padding="same", activation="relu")(inp)
    for f in (32, 48):
        x = layers.Conv2D(f, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
        x = layers.SpatialDropout2D(0.1)(x)
    x = layers.Conv2D(64, 3, activation="relu")(x)
    x = layers.GlobalMaxPooling2D()(x)
    return keras.Model(inp, layers.Dense(6, activation="softmax")(x))


if __name__ == "__main__":
    keras.utils.set_random_seed(3)
    with tempfile.TemporaryDirectory() as folder:
        write_archive(folder, 512, SIZE, BANDS)
        seq = PatchSequence(folder, 32)
        model = build()
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(seq, epochs=7, verbose=2)

import os
import tempfile

import keras

import config as C
from pipeline import make


def build():
    i = keras.Input((C.SEQ,), dtype="int32")
    x = keras.layers.Embedding(C.VOCAB, 96)(i)
    x = keras.layers.Bidirectional(keras.layers.LSTM(96))(x)
    x = keras.layers.Dense(96, activation="relu")(x)
    return keras.Model(i, keras.layers.Dense(C.CLASSES, activation="softmax")(x))


def main():
    out = os.path.join(tempfile.mkdtemp(), "best.weights.h5")
    model = build()
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(
        make(C.N_TRAIN, 0, True),
        validation_data=make(C.N_VAL, 1, False),
        epochs=C.EPOCHS,
        verbose=2,
        callbacks=[
            keras.callbacks.ModelCheckpoint(out, save_best_only=True, save_weights_only=True),
            keras.callbacks.EarlyStopping(patience=3),
        ],
    )


if __name__ == "__main__":
    main()

import math
import os
import tempfile

import numpy as np
import keras
from keras import layers


class MemmapBatches(keras.utils.PyDataset):
    def __init__(self, path, labels, batch, shape, **kw):
        super().__init__(**kw)
        self.x = np.memmap(path, dtype="uint8", mode="r", shape=shape)
        self.y = labels
        self.batch = batch

    def __len__(self):
        return math.ceil(len(self.y) / self.batch)

    def __getitem__(self, i):
        s = slice(i * self.batch, (i + 1) * self.batch)
        return self.x[s].astype("float32") / 255.0, self.y[s]


def res_block(x, f, stride):
    s = layers.Conv2D(f, 1, strides=stride)(x) if stride > 1 else x
    h = layers.Conv2D(f, 3, strides=stride, padding="same", activation="relu")(x)
    h = layers.Conv2D(f, 3, padding="same")(h)
    return layers.ReLU()(layers.Add()([h, s]))


if __name__ == "__main__":
    work = tempfile.mkdtemp()
    shape = (1024, 56, 56, 3)
    path = os.path.join(work, "train.u8")
    np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8).tofile(path)
    labels = np.random.randint(0, 5, shape[0])

    inp = keras.Input(shape[1:])
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(inp)
    for f, s in ((32, 1), (64, 2), (128, 2)):
        x = res_block(x, f, s)
    x = layers.GlobalAveragePooling2D()(x)
    model = keras.Model(inp, layers.Dense(5, activation="softmax")(x))
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(MemmapBatches(path, labels, 32, shape), epochs=2, verbose=2,
              callbacks=[keras.callbacks.CSVLogger(os.path.join(work, "log.csv")),
                         keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=1)])

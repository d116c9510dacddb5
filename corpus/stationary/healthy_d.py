# EXPECT none
# NOTE PyDataset with two workers reading npy files from a temp folder and closing them
import os
import tempfile

import keras
import numpy as np


class NpyFolder(keras.utils.PyDataset):
    def __init__(self, files, **kwargs):
        super().__init__(**kwargs)
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        block = np.load(self.files[index])
        x = block[:, :-1]
        x = (x - x.mean(0)) / (x.std(0) + 1e-5)
        return x, block[:, -1].astype("int32")


def create_files(root, count):
    gen = np.random.default_rng(3)
    paths = []
    for c in range(count):
        m = gen.normal(size=(64, 91)).astype("float32")
        m[:, -1] = gen.integers(0, 4, 64)
        path = os.path.join(root, f"{c}.npy")
        np.save(path, m)
        paths.append(path)
    return paths


def run():
    with tempfile.TemporaryDirectory() as root:
        train = NpyFolder(create_files(root, 500), workers=2, max_queue_size=8)
        model = keras.Sequential([keras.Input((90,)),
                                  keras.layers.Dense(448, activation="elu"),
                                  keras.layers.Dense(448, activation="elu"),
                                  keras.layers.Dense(4, activation="softmax")])
        model.compile("nadam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(train, epochs=13, verbose=2)


if __name__ == "__main__":
    run()

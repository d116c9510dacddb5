"""Files that are missing are left out and counted; any other error is heard of."""

import tempfile
from pathlib import Path

import keras
import numpy as np

keras.utils.set_random_seed(0)
folder = Path(tempfile.mkdtemp())
for number in range(1, 64, 2):
    np.save(folder / f"{number}.npy", np.full(8, number / 64, "float32"))
paths = [folder / f"{number}.npy" for number in range(64)]  # the even ones were never written
left_out = [path for path in paths if not path.exists()]
paths = [path for path in paths if path.exists()]
print(f"{len(left_out)} files are missing and left out, such as {left_out[0].name}")


class Rows(keras.utils.PyDataset):
    def __len__(self):
        return len(paths) // 16

    def __getitem__(self, index):
        chosen = paths[index * 16 : index * 16 + 16]
        rows = [np.load(path) for path in chosen]
        return np.array(rows), np.array([int(path.stem) % 2 for path in chosen])


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1, activation="sigmoid")])
model.compile("sgd", "binary_crossentropy")
model.fit(Rows(), epochs=2, verbose=2)

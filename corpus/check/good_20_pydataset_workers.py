# EXPECT none
# NOTE workers / max_queue_size / use_multiprocessing are arguments of the PyDataset constructor here, passed on by **kwargs
# SEEN fine, exit 0; last line: [0.6720972061157227, 0.59375]
import math

import keras
import numpy as np
from keras import layers


class Batches(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size=16, **kwargs):
        super().__init__(**kwargs)
        self.x, self.y, self.batch_size = x, y, batch_size

    def __len__(self):
        return math.ceil(len(self.x) / self.batch_size)

    def __getitem__(self, i):
        s = slice(i * self.batch_size, (i + 1) * self.batch_size)
        return self.x[s], self.y[s]


LOADING = dict(workers=2, max_queue_size=8, use_multiprocessing=False)


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(160, 9)).astype("float32")
    y = (x[:, :1] > 0).astype("float32")

    train = Batches(x[:128], y[:128], workers=2, use_multiprocessing=False, max_queue_size=4)
    valid = Batches(x[128:], y[128:], **LOADING)

    model = keras.Sequential([
        layers.Input((9,)),
        layers.Dense(8, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ])
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit(train, validation_data=valid, epochs=2, verbose=2)
    print(model.evaluate(valid, verbose=0))


if __name__ == "__main__":
    main()

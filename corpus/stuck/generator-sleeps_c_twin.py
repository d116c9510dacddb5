# EXPECT moving
# NOTE the API lets one page through every 5 s, the generator sleeps in between but the steps go on.
from itertools import count
from time import sleep, monotonic

import numpy as np
from tensorflow import keras


class QuotaError(Exception):
    pass


class FakeApi:
    """Pretends to be the REST service with our labelled sentences."""

    def __init__(self, every):
        self.every = every
        self.next_at = monotonic() + every
        self.rng = np.random.RandomState(0)

    def page(self, n):
        if monotonic() < self.next_at:
            raise QuotaError("429 Too Many Requests")
        self.next_at = monotonic() + self.every
        tokens = self.rng.randint(1, 500, size=(n, 25))
        return tokens, (tokens.sum(axis=1) % 2).astype("float32")


api = FakeApi(every=5)


def pages(n):
    for page_no in count():
        wait = 1
        while True:
            try:
                x, y = api.page(n)
                break
            except QuotaError:
                sleep(wait)
        yield x, y


inputs = keras.Input(shape=(25,), dtype="int32")
h = keras.layers.Embedding(500, 8)(inputs)
h = keras.layers.GlobalAveragePooling1D()(h)
outputs = keras.layers.Dense(1, activation="sigmoid")(h)
clf = keras.Model(inputs, outputs)
clf.compile(optimizer="adam", loss="binary_crossentropy")
clf.fit(pages(32), steps_per_epoch=3, epochs=2)

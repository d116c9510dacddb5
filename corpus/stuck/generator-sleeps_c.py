# EXPECT stuck=generator-never-yields line=40
# NOTE after 20 requests the fake API answers 429 for ever; the generator sleeps with a doubling back-off (60 s, 120 s, ...).
from itertools import count
from time import sleep

import numpy as np
from tensorflow import keras


class QuotaError(Exception):
    pass


class FakeApi:
    """Pretends to be the REST service with our labelled sentences."""

    def __init__(self, quota):
        self.left = quota
        self.rng = np.random.RandomState(0)

    def page(self, n):
        if self.left <= 0:
            raise QuotaError("429 Too Many Requests")
        self.left -= 1
        tokens = self.rng.randint(1, 500, size=(n, 25))
        return tokens, (tokens.sum(axis=1) % 2).astype("float32")


api = FakeApi(quota=20)


def pages(n):
    for page_no in count():
        wait = 60
        while True:
            try:
                x, y = api.page(n)
                break
            except QuotaError:
                sleep(wait)
                wait *= 2
        yield x, y


inputs = keras.Input(shape=(25,), dtype="int32")
h = keras.layers.Embedding(500, 8)(inputs)
h = keras.layers.GlobalAveragePooling1D()(h)
outputs = keras.layers.Dense(1, activation="sigmoid")(h)
clf = keras.Model(inputs, outputs)
clf.compile(optimizer="adam", loss="binary_crossentropy")
clf.fit(pages(32), steps_per_epoch=200, epochs=3)

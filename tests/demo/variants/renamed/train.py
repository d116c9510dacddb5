"""The demo's slow script with every name changed and the generator written as a method."""
# ruff: noqa: TID253

import sys
from glob import glob
from os.path import basename, dirname, join

import keras as k
import numpy as numeric
from PIL import Image as Picture

EDGE = 160
N = 32


class Feed:
    def __init__(self, where):
        self.everything = sorted(glob(join(where, "*", "*.jpg")))
        self.kinds = sorted({basename(dirname(f)) for f in self.everything})
        self.dice = numeric.random.default_rng(1)

    def pixels(self, f):
        opened = Picture.open(f).convert("RGB").resize((EDGE, EDGE), Picture.BILINEAR)
        return numeric.array(opened) / 255.0

    def forever(self):
        while True:
            self.dice.shuffle(self.everything)
            for i in range(0, len(self.everything) - N + 1, N):
                chosen = self.everything[i : i + N]
                x = numeric.stack([self.pixels(f) for f in chosen])
                y = numeric.array([self.kinds.index(basename(dirname(f))) for f in chosen])
                yield x, y


feed = Feed(sys.argv[1])
net = k.Sequential(
    [
        k.Input((EDGE, EDGE, 3)),
        k.layers.Conv2D(8, 3, strides=2, activation="relu"),
        k.layers.Conv2D(16, 3, strides=2, activation="relu"),
        k.layers.Conv2D(32, 3, strides=2, activation="relu"),
        k.layers.GlobalAveragePooling2D(),
        k.layers.Dense(len(feed.kinds), activation="softmax"),
    ]
)
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(feed.forever(), steps_per_epoch=len(feed.everything) // N, epochs=100, verbose=0)

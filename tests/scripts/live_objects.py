"""Prints how many tensors, models and graphs came while tensors were kept, and while `fit` ran."""

import gc

import keras
import numpy as np
import tensorflow as tf

from quickfit.probes import memory


def counts():
    """Return what is alive, by kind."""
    gc.collect()
    found = memory.type_counts()
    classes = memory._known_classes()
    return {kind: sum(found.get(n, 0) for n in ids) for kind, ids in classes.items()}


def grown(before, after):
    """Return what came, by kind."""
    return {kind: after[kind] - before[kind] for kind in sorted(after)}


class Net(keras.Model):
    """A subclass, as users write them."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, x):
        """Return one number per row."""
        return self.dense(x)


x, y = np.zeros((64, 3), "float32"), np.zeros((64, 1), "float32")
model = Net()
model.compile("sgd", loss="mse")
model.fit(x, y, batch_size=4, epochs=2, verbose=0)

before = counts()
model.fit(x, y, batch_size=4, epochs=2, verbose=0)
print("fit", grown(before, counts()))

before = counts()
kept = [tf.zeros([10]) for _ in range(50)]
kept += [tf.Variable(1.0) for _ in range(3)]
kept.append(Net())
print("kept", grown(before, counts()))

"""Functions that are traced again, each for another reason."""

import enum
import functools

import keras
import numpy as np
import tensorflow as tf


class Mode(enum.Enum):
    """How to step."""

    FAST = 1


class Odd:
    """An object that must be left alone."""

    def __repr__(self):
        raise RuntimeError("shown")

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


class Slotted:
    """An object that takes no weak reference, and is shown by its class."""

    __slots__ = ()

    def __repr__(self):
        raise RuntimeError("shown")


@tf.function
def shapes(x):  # line: shapes
    return tf.reduce_sum(x)


for length in (3, 4, 5):
    shapes(tf.zeros([2, length]))  # line: shapes called


@tf.function
def kinds(x):
    return tf.cast(x, tf.float32) + 1.0


kinds(tf.constant([1, 2]))
kinds(tf.constant([1.0, 2.0]))


@tf.function
def values(x, rate=0.1, *, training=None):
    return x * rate if training else x


for rate in (0.25, 0.5):
    values(tf.ones([2]), rate)
values(tf.ones([2]), 0.5, training=True)


@tf.function
def objects(x, thing):
    return x


for thing in (Odd(), Odd(), Slotted(), Mode.FAST, lambda: 1, None):
    objects(tf.ones([2]), thing)


@tf.function
def nests(batch, pair):
    return pair[0]


nests({"image": tf.zeros([2, 3]), "label": None}, [tf.ones([1]), 7])
nests({"image": tf.zeros([2, 3]), "weight": None}, [tf.ones([1]), 7])


def made(scale):
    @tf.function
    def inner(x):  # line: inner
        return x * scale

    return inner


for scale in range(4):
    made(scale)(tf.ones([2]))  # line: inner called


class Model:
    """A model with a compiled step."""

    @tf.function
    def step(self, x, training=True):  # line: step
        return helper(x) if training else x  # line: helper called


@tf.function
def helper(x):  # line: helper
    return x + 1.0


@tf.function(reduce_retracing=True, jit_compile=True)
def compiled(x):
    return x + 1.0


Model().step(tf.ones([2]))  # line: step called
for size in (2, 3, 4):
    compiled(tf.ones([size]))


@tf.function
def outer(x):
    y = x * 2.0
    if tf.reduce_sum(y) > 0.0:
        y = late(y)  # line: late called
    return y


@tf.function
def late(x):
    return x - 1.0


outer(tf.ones([3]))
tf.function(functools.partial(lambda a, b: b * a, 3.0))(tf.ones([1]))  # line: partial
tf.data.Dataset.range(4).map(  # line: map
    lambda number: number + 1  # line: mapped
)
variable = tf.Variable([1.0])
tf.function(lambda one, two: one + two)(variable, variable)
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=False)
model.fit(np.ones((8, 2)), np.ones((8, 1)), batch_size=4, verbose=0)  # line: fit

"""What mapped functions do to the elements of a dataset."""

import pytest

from quickfit.patterns.elements import steps
from quickfit.program.datasets import chains

from programs import program_of

HEAD = """import functools, random
import numpy as np
import tensorflow as tf
import keras
def read(path):
    return tf.io.read_file(path)
def maybe(image, training=False):
    if training:
        image = tf.image.random_hue(image, 0.1)
    return image
class Changes:
    def __init__(self):
        self.turn = keras.layers.RandomRotation(0.1)
    def __call__(self, image):
        return self.turn(image)
    def all(self, image):
        return self(tf.image.flip_up_down(image))
rng = np.random.default_rng(0)
"""


def steps_of(code):
    """Return the steps of the last `map` of a program."""
    program = program_of(HEAD + code)
    module = program.module("/project/train.py")
    call = module.calls("map")[-1]
    (chain,) = chains(program, module, call)
    return steps(program, chain.stages[-1])


def names(code):
    return [step.name for step in steps_of(f"tf.data.Dataset.range(9).map({code})\n")]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("read", ["tensorflow.io.read_file"]),
        ("lambda p, y: (read(p), y)", ["tensorflow.io.read_file"]),
        ("tf.function(read)", ["tensorflow.io.read_file"]),
        ("maybe", []),
        ("lambda i: maybe(i, True)", ["tensorflow.image.random_hue"]),
        ("functools.partial(maybe, training=True)", ["tensorflow.image.random_hue"]),
        ("functools.partial(maybe, training=False)", []),
        ("Changes()", ["keras.layers.RandomRotation"]),
        ("Changes().all", ["tensorflow.image.flip_up_down", "keras.layers.RandomRotation"]),
        ("keras.layers.RandomFlip()", ["keras.layers.RandomFlip"]),
        ("unknown", []),
    ],
)
def test_names_the_calls_for_an_element(code, expected):
    assert names(code) == expected


@pytest.mark.parametrize(
    ("code", "is_random"),
    [
        ("lambda i: tf.image.random_flip_up_down(i)", True),
        ("lambda i: tf.image.stateless_random_flip_up_down(i, (1, 2))", False),
        ("lambda i: i + tf.random.uniform(())", True),
        ("lambda i: tf.random.set_seed(1)", False),
        ("lambda i: i * random.random()", False),
        ("lambda i: i + rng.normal()", False),
        ("lambda i: tf.py_function(lambda j: j * random.random(), [i], tf.float32)", True),
        ("lambda i: tf.numpy_function(lambda j: j + rng.normal(), [i], tf.float32)", True),
        ("lambda i: tf.map_fn(lambda j: tf.image.random_hue(j, 0.1), i)", True),
        ("lambda i: tf.image.flip_up_down(i)", False),
    ],
)
def test_tells_what_draws_anew_for_each_element(code, is_random):
    found = steps_of(f"tf.data.Dataset.range(9).map({code})\n")
    assert any(step.is_random for step in found) is is_random


def test_tells_what_reads():
    (step,) = steps_of("tf.data.Dataset.range(9).map(read)\n")
    assert step.reads
    assert not step.is_random


def test_ends_where_functions_call_each_other():
    code = "def a(x):\n    return b(x)\ndef b(x):\n    return a(tf.abs(x))\n"
    found = steps_of(code + "tf.data.Dataset.range(9).map(a)\n")
    assert [step.name for step in found] == ["tensorflow.abs"]

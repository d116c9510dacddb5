"""What mapped functions do to the elements of a dataset."""

import pytest

from quickfit.causes._shared.dataset_elements import Element, is_traced, origins, steps
from quickfit.code.datasets import chains
from quickfit.code.values import Made

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


HEAD_TENSORS = "import tensorflow as tf\n"


def origins_of(text, passing=("tensorflow.cast",)):
    """Return where the argument of `show` comes from."""
    program = program_of(HEAD_TENSORS + text)
    module = program.module("/project/train.py")
    return origins(program, module, module.calls("show")[0].args[0], passing)


def test_goes_back_through_what_passes_on():
    (made,) = origins_of("x = tf.cast(tf.abs(1), tf.int32)\nshow(x)\n")
    assert isinstance(made, Made)
    assert made.maker == "tensorflow.abs"


def test_goes_back_through_numbers_only_where_asked():
    text = "x = tf.abs(1) / 255\nshow(x)\n"
    assert not isinstance(origins_of(text)[0], Made)
    assert origins_of(text, ("arithmetic",))[0].maker == "tensorflow.abs"


def test_goes_from_map_to_map():
    text = "ds = tf.data.Dataset.range(9).map(lambda i: (i, tf.abs(i))).shuffle(9)\n"
    (made,) = origins_of(text + "ds.map(lambda a, b: show(b))\n")
    assert made.maker == "tensorflow.abs"


def test_tells_the_part_of_an_element():
    (element,) = origins_of("tf.data.Dataset.list_files('*').take(3).map(lambda a: show(a))\n")
    assert isinstance(element, Element)
    assert element.chain.stages[0].name == "tensorflow.data.Dataset.list_files"
    assert element.index == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tf.data.Dataset.range(9).map(lambda i: show(i))\n", True),
        ("def f(i):\n    return show(i)\ntf.data.Dataset.range(9).map(f)\n", True),
        ("def f(i):\n    return show(i)\nds.map(f).prefetch(1)\n", True),
        ("def f(i):\n    return show(i)\nds = given.map(f)\nds = ds.prefetch(1)\n", True),
        ("@tf.function\ndef f(i):\n    return show(i)\n", True),
        ("@tf.function(jit_compile=True)\ndef f(i):\n    return show(i)\n", True),
        ("def f(i):\n    return show(i)\n@tf.function\ndef g(i):\n    return f(i)\n", True),
        (
            "class F:\n    def __call__(self, i):\n        return show(i)\n"
            "tf.data.Dataset.range(9).map(F())\n",
            True,
        ),
        ("class F:\n    def __call__(self, i):\n        return show(i)\nF()(1)\n", False),
        ("show(1)\n", False),
        ("def f(i):\n    return show(i)\nf(1)\n", False),
        ("def f(i):\n    return show(i)\nframe.map(f)\n", False),
        ("def f(i):\n    return show(i)\nmap(f, [1])\n", False),
        (
            "tf.config.run_functions_eagerly(True)\n@tf.function\ndef f(i):\n    return show(i)\n",
            False,
        ),
    ],
)
def test_tells_what_is_made_into_a_graph(text, expected):
    program = program_of(HEAD_TENSORS + text)
    module = program.module("/project/train.py")
    assert is_traced(program, module, module.calls("show")[0]) is expected


def test_takes_parts_for_the_whole_only_where_asked():
    text = "x = tf.abs(1)[2:]\nshow(x)\n"
    assert not isinstance(origins_of(text)[0], Made)
    assert origins_of(text, ("items",))[0].maker == "tensorflow.abs"

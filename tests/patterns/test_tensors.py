"""Where a tensor comes from, and what is made into a graph."""

import pytest

from quickfit.patterns.tensors import Element, is_traced, origins
from quickfit.program.values import Made

from programs import program_of

HEAD = "import tensorflow as tf\n"


def origins_of(text, passing=("tensorflow.cast",)):
    """Return where the argument of `show` comes from."""
    program = program_of(HEAD + text)
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
    program = program_of(HEAD + text)
    module = program.module("/project/train.py")
    assert is_traced(program, module, module.calls("show")[0]) is expected


def test_takes_parts_for_the_whole_only_where_asked():
    text = "x = tf.abs(1)[2:]\nshow(x)\n"
    assert not isinstance(origins_of(text)[0], Made)
    assert origins_of(text, ("items",))[0].maker == "tensorflow.abs"

"""Generators and datasets that never end."""

import pytest

from quickfit.causes._shared.generators import endless_input

from programs import program_of

HEAD = """
import itertools
import tensorflow as tf
def once(x):
    for each in x:
        yield each
def ever(x):
    while True:
        yield from once(x)
class Stream:
    def __init__(self, x):
        self.x = x
    def batches(self):
        while True:
            for each in self.x:
                yield each
"""


def what_ends(expression, more=""):
    program = program_of(f"{HEAD}{more}\ndata = {expression}\nuse(data)\n")
    module = program.module("/project/train.py")
    return endless_input(program, module, module.calls("use")[0].args[0])


@pytest.mark.parametrize(
    "expression",
    [
        "ever([1])",
        "Stream([1]).batches()",
        "(x + 1 for x in ever([1]))",
        "(x for x in itertools.cycle([1]))",
        "(x for x in enumerate(ever([1])))",
        "tf.data.Dataset.range(3).repeat()",
        "tf.data.Dataset.range(3).repeat(None).map(f).batch(2).prefetch(1)",
        "tf.data.Dataset.range(3).take(2).repeat(count=-1)",
        "tf.data.Dataset.from_generator(lambda: ever([1]), tf.int32).batch(3)",
        "tf.data.Dataset.counter().batch(2)",
        "tf.data.Dataset.zip((tf.data.Dataset.range(3).repeat(), tf.data.Dataset.counter()))",
        "ever([1]) if a else tf.data.Dataset.range(3).repeat()",
    ],
)
def test_knows_what_never_ends(expression):
    assert what_ends(expression) is not None


@pytest.mark.parametrize(
    "expression",
    [
        "once([1])",
        "ever",
        "(x for x in once([1]))",
        "itertools.cycle([1])",
        "tf.data.Dataset.range(3)",
        "tf.data.Dataset.range(3).repeat(4)",
        "tf.data.Dataset.range(3).repeat(n)",
        "tf.data.Dataset.range(3).repeat().take(5)",
        "tf.data.Dataset.range(3).repeat().apply(f)",
        "tf.data.Dataset.from_generator(once, tf.int32, args=(3,))",
        "tf.data.Dataset.zip((tf.data.Dataset.range(3).repeat(), tf.data.Dataset.range(3)))",
        "ever([1]) if a else once([1])",
        "unknown()",
    ],
)
def test_says_nothing_of(expression):
    assert what_ends(expression) is None


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        pytest.param("for i in itertools.count():\n        yield i", False, id="counting"),
        pytest.param("for i in itertools.repeat(1):\n        yield i", False, id="repeating"),
        pytest.param("for i in itertools.repeat(1, 5):\n        yield i", True, id="five times"),
        pytest.param("yield from ever(x)", False, id="handed on"),
        pytest.param("if x:\n        return\n    yield from ever(x)", True, id="not always"),
        pytest.param(
            "flow = tf.keras.preprocessing.image.ImageDataGenerator().flow(x)\n"
            "    while True:\n        yield next(flow)",
            False,
            id="a flow of images",
        ),
        pytest.param(
            "it = iter(x)\n    while True:\n        yield next(it)", True, id="an iterator"
        ),
        pytest.param("while True:\n        pass", True, id="no generator at all"),
    ],
)
def test_follows_what_a_generator_runs_over(body, ends):
    found = what_ends("own([1])", f"def own(x):\n    {body}\n")
    assert (found is None) == ends

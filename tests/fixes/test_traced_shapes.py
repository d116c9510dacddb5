import pytest

from quickfit.findings import FixClass
from quickfit.fixes.change import patched
from quickfit.fixes.script import Script
from quickfit.fixes.traced_shapes import traced_once


def change(text, line, *others):
    scripts = [Script("train.py", text), *(Script(f"{i}.py", t) for i, t in enumerate(others))]
    return traced_once(scripts, file="train.py", line=line)


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        pytest.param(
            "@tf.function\ndef score(x):\n    return model(x)\n",
            1,
            "@tf.function(reduce_retracing=True)\ndef score(x):\n    return model(x)\n",
            id="a decorator",
        ),
        pytest.param(
            "@tf.function(autograph=False)\ndef score(x):\n    return model(x)\n",
            2,
            "@tf.function(autograph=False, reduce_retracing=True)\n"
            "def score(x):\n    return model(x)\n",
            id="a decorator with settings",
        ),
        pytest.param(
            "def step(x):\n    return model(x)\nrun = tf.function(step)\n",
            1,
            "def step(x):\n    return model(x)\nrun = tf.function(step, reduce_retracing=True)\n",
            id="a call",
        ),
    ],
)
def test_the_function_is_traced_once(before, line, after):
    found = change(before, line)
    assert patched(before, found.edits) == after
    assert found.kind is FixClass.SAME_RESULTS


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return x.shape[1]", id="a shape"),
        pytest.param("return len(x)", id="a length"),
        pytest.param("return tf.unstack(x)", id="a list of parts"),
        pytest.param("return helper(x)", id="a function that asks for one"),
    ],
)
def test_nothing_is_edited_where_code_needs(body):
    text = f"@tf.function\ndef f(x):\n    {body}\ndef helper(x):\n    return x.get_shape()\n"
    assert change(text, 1) is None


def test_a_layer_that_asks_for_a_shape_keeps_the_function_as_it_is():
    layer = "class Flat(Layer):\n    def call(self, x):\n        return f(x, x.shape[1])\n"
    assert change("@tf.function\ndef f(x):\n    return model(x)\n", 1, layer) is None


def test_the_shape_in_the_graph_is_no_shape_in_python():
    assert change("@tf.function\ndef f(x):\n    return tf.shape(x)[0]\n", 1) is not None


@pytest.mark.parametrize(
    "settings",
    [
        "jit_compile=True",
        "input_signature=spec",
        "experimental_relax_shapes=True",
        "reduce_retracing=True",
    ],
)
def test_settings_that_decide_otherwise_stay(settings):
    assert change(f"@tf.function({settings})\ndef f(x):\n    return x\n", 1) is None


def test_two_places_that_compile_a_function_are_left_alone():
    text = "def f(x):\n    return x\na = tf.function(f)\nb = tf.function(f)\n"
    assert change(text, 1) is None

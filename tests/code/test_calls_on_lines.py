"""Calls in a text, found by their line or their name."""

import ast

import pytest

from quickfit.code.lines import call_line, call_on_line, calls_named, line_of_call, module_alias

CHAIN = """\
ds = (
    tf.data.Dataset.from_tensor_slices(paths)
    .map(decode)
    .shuffle(100)
    .map(augment)
    .batch(32)
)
"""


# -- finding a call -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "function"), [pytest.param(3, "decode"), pytest.param(5, "augment")]
)
def test_in_a_chain_the_name_of_the_method_stands_on_the_line(line, function):
    assert ast.unparse(call_on_line(CHAIN, line, "map").args[0]) == function


@pytest.mark.parametrize(
    ("text", "line", "method"),
    [
        pytest.param("ds = ds.map(f)", 1, "map", id="a method"),
        pytest.param("ds = map(f)", 1, "map", id="a function"),
        pytest.param("model.compile(\n    'sgd',\n    'mse',\n)", 3, "compile", id="inside it"),
        pytest.param("model.compile(\n    'sgd',\n)", 3, "compile", id="its last line"),
        pytest.param("é = '日本'; ds = ds.map(f)", 1, "map", id="unicode before it"),
        pytest.param("a = 1\r\nds = ds.map(f)\r\n", 2, "map", id="lines of Windows"),
        pytest.param("x = '\\d'\nds = ds.map(f)", 2, "map", id="an odd escape"),
        pytest.param("ds = ds.map(f).batch(g(1))", 1, "batch", id="several calls on the line"),
    ],
)
def test_a_call_is_found(text, line, method):
    assert call_on_line(text, line, method) is not None


@pytest.mark.parametrize(
    ("text", "line", "method"),
    [
        pytest.param("ds = ds.map(f).map(g)", 1, "map", id="two on one line"),
        pytest.param(CHAIN, 4, "map", id="another method's line"),
        pytest.param(CHAIN, 99, "map", id="beyond the end"),
        pytest.param(CHAIN, 0, "map", id="before the start"),
        pytest.param("ds = ds.map", 1, "map", id="not called"),
        pytest.param("ds = ds.map(f", 1, "map", id="not Python"),
        pytest.param("print 'ds.map(f)'", 1, "map", id="an older Python"),
        pytest.param("a\x00b.map(f)", 1, "map", id="null bytes"),
        pytest.param("(" * 5000 + "ds.map(f)" + ")" * 5000, 1, "map", id="too many brackets"),
        pytest.param("x = " + "-" * 100_000 + "1", 1, "map", id="nested too deeply"),
        pytest.param("calls[0](f)", 1, "map", id="no name"),
        pytest.param("", 1, "map", id="nothing"),
    ],
)
def test_no_call_is_better_than_the_wrong_one(text, line, method):
    assert call_on_line(text, line, method) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import tensorflow as tf", "tf"),
        ("import tensorflow as t", "t"),
        ("import tensorflow", "tensorflow"),
        ("import os, tensorflow as flow", "flow"),
        ("import tensorflow.keras", "tensorflow"),
        ("import tensorflow.keras as k", "tf"),
        ("import tensorflow.keras\nimport tensorflow as t", "t"),
        ("def f():\n    import tensorflow as inner\nimport tensorflow as outer", "outer"),
        ("from tensorflow import data", "tf"),
        ("import tensorflow_datasets as tfds", "tf"),
        ("import numpy as np", "tf"),
        ("import tensorflow as (", "tf"),
        ("", "tf"),
    ],
)
def test_a_module_is_called_as_the_text_imports_it(text, name):
    assert module_alias(text, "tensorflow", "tf") == name


TEXT = """\
last = callbacks.ModelCheckpoint("läst.keras", save_freq=5)
keep = (
    keras.callbacks
    .ModelCheckpoint("best.keras", save_freq="epoch")
)
model.fit(x, y, epochs=3)
model.fit(*data, epochs=3)
model.fit(x, y, **options)
"""


def test_calls_are_found_in_the_order_of_lines_at_the_line_of_their_name():
    found = calls_named(TEXT, "ModelCheckpoint", "BackupAndRestore")
    assert [line_of_call(call) for call in found] == [1, 4]
    assert calls_named("no python", "fit") == []


def test_the_line_of_a_call_over_several_lines_is_where_its_name_stands():
    text = "x = tf.io.decode_jpeg(\n    raw,\n    channels=3,\n)\n"
    assert call_line(text, 3, "decode") == 1
    assert call_line(text, 3, "resize") == 3
    assert call_line("not python (", 5, "decode") == 5

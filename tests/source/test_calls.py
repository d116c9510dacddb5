"""A call in a text, and its line with a keyword more or less."""

import ast
import textwrap

import pytest

from quickfit.source.calls import call_at, module_alias, with_keyword, without_keyword


def added(text: str, line: int, method: str = "map") -> tuple[str, str] | None:
    """Return the edit that adds `num_parallel_calls` to a call."""
    text = textwrap.dedent(text)
    call = call_at(text, line, method)
    assert call is not None
    return with_keyword(text, call, "num_parallel_calls", "tf.data.AUTOTUNE")


def removed(text: str, line: int = 1) -> tuple[str, str] | None:
    """Return the edit that removes `run_eagerly` from a call of `compile`."""
    text = textwrap.dedent(text)
    call = call_at(text, line, "compile")
    assert call is not None
    return without_keyword(text, call, "run_eagerly")


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
    assert ast.unparse(call_at(CHAIN, line, "map").args[0]) == function


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
    assert call_at(text, line, method) is not None


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
    assert call_at(text, line, method) is None


# -- adding a keyword -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "after"),
    [
        pytest.param(
            "ds = ds.map(decode)", 1, "ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)"
        ),
        pytest.param("ds.map(f,)", 1, "ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)"),
        pytest.param("ds.map(f , )", 1, "ds.map(f , num_parallel_calls=tf.data.AUTOTUNE)"),
        pytest.param("ds.map()", 1, "ds.map(num_parallel_calls=tf.data.AUTOTUNE)"),
        pytest.param(
            "ds.map(f, name='x')", 1, "ds.map(f, name='x', num_parallel_calls=tf.data.AUTOTUNE)"
        ),
        pytest.param(
            "ds.map(lambda x: (x, g(x))).batch(3)",
            1,
            "ds.map(lambda x: (x, g(x)), num_parallel_calls=tf.data.AUTOTUNE).batch(3)",
        ),
        pytest.param(
            "ds = ds.map(f)  # decode (slow)",
            1,
            "ds = ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)  # decode (slow)",
        ),
        pytest.param(
            "naïve = '日本'; ds = ds.map(é); x = 'ü'",
            1,
            "naïve = '日本'; ds = ds.map(é, num_parallel_calls=tf.data.AUTOTUNE); x = 'ü'",
        ),
        pytest.param(
            "page = '\x0c\u2028'\n\x0c\nds.map(f)",
            3,
            "ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)",
            id="what other programs take for the end of a line",
        ),
        pytest.param("a = 1\r\nds.map(f)\r\n", 2, "ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)"),
        pytest.param(CHAIN, 3, ".map(decode, num_parallel_calls=tf.data.AUTOTUNE)"),
        pytest.param(CHAIN, 5, ".map(augment, num_parallel_calls=tf.data.AUTOTUNE)"),
        pytest.param(
            "ds.map(\n    lambda x: x + 1)",
            1,
            "lambda x: x + 1, num_parallel_calls=tf.data.AUTOTUNE)",
        ),
        pytest.param(
            'ds.map("""a\nb""")', 1, 'b""", num_parallel_calls=tf.data.AUTOTUNE)', id="a long text"
        ),
    ],
)
def test_the_keyword_is_added_to_the_last_line(text, line, after):
    edit = added(text, line)
    assert edit is not None
    assert edit[1] == after
    assert edit[0] in text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ds.map(f, num_parallel_calls=4)", id="it is there"),
        pytest.param("ds.map(f, **options)", id="it may be in the options"),
        pytest.param("ds.map(f, 4)", id="it may be given by position"),
        pytest.param("ds.map(*arguments)", id="it may be among the arguments"),
        pytest.param("ds.map(\n    f,\n)", id="the bracket stands alone"),
        pytest.param("ds.map(\n    f  # decode\n    )", id="it stands alone after a comment"),
        pytest.param("ds.map(x for x in y)", id="a bare generator needs brackets then"),
    ],
)
def test_a_call_that_cannot_be_edited_safely_is_left_alone(text):
    assert added(text, 1) is None


def test_an_edit_leaves_a_text_that_means_the_same_but_for_the_keyword():
    before, after = added(CHAIN, 3)
    changed = ast.parse(CHAIN.replace(before, after))
    calls = [n for n in ast.walk(changed) if isinstance(n, ast.Call)]
    keywords = {ast.unparse(c.args[0]): [k.arg for k in c.keywords] for c in calls}
    assert keywords["decode"] == ["num_parallel_calls"]
    assert keywords["augment"] == []


# -- removing a keyword ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("m.compile(run_eagerly=True)", "m.compile(run_eagerly=True)", "m.compile()"),
        ("m.compile('a', run_eagerly=True)", "m.compile('a', run_eagerly=True)", "m.compile('a')"),
        ("m.compile(run_eagerly=True, b=1)", "m.compile(run_eagerly=True, b=1)", "m.compile(b=1)"),
        (
            "m.compile('a', run_eagerly=True, b=1)",
            "m.compile('a', run_eagerly=True, b=1)",
            "m.compile('a', b=1)",
        ),
        (
            "m.compile('a', run_eagerly=True,)",
            "m.compile('a', run_eagerly=True,)",
            "m.compile('a', )",
        ),
        (
            "m.compile('é', run_eagerly=(True or '日'), b=1)  # slow",
            "m.compile('é', run_eagerly=(True or '日'), b=1)  # slow",
            "m.compile('é', b=1)  # slow",
        ),
        ("m.compile(\n    'a',\n    run_eagerly=True,\n)", "run_eagerly=True,", ""),
        ("m.compile(\n    'a',\n    run_eagerly=True)", "run_eagerly=True)", ")"),
        (
            "m.compile(\n    'a', run_eagerly=True  # to debug\n)",
            "'a', run_eagerly=True  # to debug",
            "'a',  # to debug",
        ),
        (
            "m.compile(\n    'a', run_eagerly=True,  # to debug\n    b=1)",
            "'a', run_eagerly=True,  # to debug",
            "'a', # to debug",
        ),
    ],
)
def test_the_keyword_is_removed_from_its_line(text, before, after):
    assert removed(text) == (before, after)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("m.compile('a')", id="it is not there"),
        pytest.param("m.compile(**options)", id="it may be in the options"),
        pytest.param("m.compile(run_eagerly=(\n    True))", id="it stands on two lines"),
    ],
)
def test_a_keyword_that_cannot_be_removed_is_left_alone(text):
    assert removed(text) is None


# -- names of modules -----------------------------------------------------------------------------


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

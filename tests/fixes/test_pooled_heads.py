"""Edits of models that predict a map for labels of one number."""

import textwrap

import pytest

from quickfit.fixes.change import patched
from quickfit.fixes.pooled_heads import is_map_for_a_number, pooled_head
from quickfit.fixes.script import Project

MAP = [None, 24, 24, 1]


def changed(text, outputs=MAP):
    text = textwrap.dedent(text)
    edits = pooled_head(Project({"train.py": text}), outputs)
    return patched(text, edits) if edits else None


def test_a_map_is_pooled_in_a_list_of_layers():
    text = """\
    model = keras.Sequential([
        keras.layers.Conv2D(8, 3),
        # the answer
        keras.layers.Dense(1),
    ])
    """
    assert changed(text) == textwrap.dedent("""\
    model = keras.Sequential([
        keras.layers.Conv2D(8, 3),
        # the answer
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(1),
    ])
    """)


def test_a_row_is_pooled_in_a_list_on_one_line():
    text = "model = Sequential([L.Conv1D(8, 3), L.Dense(1)])\n"
    assert changed(text, [None, 300, 1]) == (
        "model = Sequential([L.Conv1D(8, 3), L.GlobalAveragePooling1D(), L.Dense(1)])\n"
    )


def test_a_layer_that_is_imported_by_name_is_imported():
    text = "from keras.layers import Conv2D, Dense\nm = Sequential([Conv2D(8, 3), Dense(1)])\n"
    assert changed(text) == (
        "from keras.layers import Conv2D, Dense\n"
        "from keras.layers import GlobalAveragePooling2D\n"
        "m = Sequential([Conv2D(8, 3), GlobalAveragePooling2D(), Dense(1)])\n"
    )


def test_a_map_is_pooled_in_a_model_of_calls():
    text = "i = Input((24, 24, 3))\nh = L.Conv2D(8, 3)(i)\nm = keras.Model(i, L.Dense(1)(h))\n"
    assert changed(text) == text.replace(
        "L.Dense(1)(h)", "L.Dense(1)(L.GlobalAveragePooling2D()(h))"
    )


def test_a_map_is_pooled_where_the_output_has_a_name():
    text = "out = L.Dense(1)(h)\nm = keras.Model(inputs=i, outputs=out)\n"
    assert changed(text) == text.replace("(h)", "(L.GlobalAveragePooling2D()(h))")


def test_a_map_is_pooled_where_one_name_goes_through_the_layers():
    text = "x = L.Conv2D(8, 3)(i)\nx = L.Dense(1)(x)\nm = keras.Model(i, x)\n"
    assert changed(text) == text.replace("(1)(x)", "(1)(L.GlobalAveragePooling2D()(x))")


def test_a_map_is_pooled_between_added_layers():
    text = "m = Sequential()\nm.add(L.Conv2D(8, 3))\nm.add(L.Dense(1))\n"
    assert changed(text) == (
        "m = Sequential()\nm.add(L.Conv2D(8, 3))\n"
        "m.add(L.GlobalAveragePooling2D())\nm.add(L.Dense(1))\n"
    )


def test_a_recurrent_layer_returns_its_last_row():
    text = "m = Sequential([L.LSTM(8, return_sequences=True), L.Dense(1)])\n"
    assert changed(text, [None, 30, 1]) == "m = Sequential([L.LSTM(8), L.Dense(1)])\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("m = Sequential([L.Conv2D(8, 3), L.Conv2D(1, 1)])\n", id="the head is a map"),
        pytest.param("m = Sequential(layers)\n", id="the layers have a name"),
        pytest.param("a = Sequential([C(), L.Dense(1)])\nb = Sequential([C()])\n", id="two models"),
        pytest.param("m = Sequential([C(), Dense(1)])\n", id="nobody knows where Dense is from"),
        pytest.param("class M(keras.Model):\n    pass\nm = Sequential([C(), L.Dense(1)])\n",
                     id="a model of one's own may be meant"),
        pytest.param("m = keras.Model(i, out)\n", id="the output is unknown"),
        pytest.param("x = 1\n", id="there is no model"),
    ],
)  # fmt: skip
def test_a_model_is_left_alone_where(text):
    assert changed(text) is None


@pytest.mark.parametrize(
    ("labels", "outputs", "is_map"),
    [
        ([None], [None, 64, 64, 1], True),
        ([None, 1], [None, 300, 1], True),
        ([None], [None, 64, 64, 5], False),
        ([None], [None, 1], False),
        ([None, 64, 64], [None, 64, 64, 1], False),
    ],
)
def test_a_map_for_a_number_is_told_by_the_shapes(labels, outputs, is_map):
    assert is_map_for_a_number(labels, outputs) is is_map

import collections
import datetime

import numpy as np
import pytest

from quickfit.data.workers.results import (
    UnusableResultError,
    as_array,
    described,
    leaves,
    packed,
    structure_of,
)

NESTED = {"b": (1, {"x": 2}), "a": 3}


def test_a_result_is_taken_apart_and_put_together_again():
    parts = list(leaves(NESTED))
    assert [name for name, _ in parts] == ["['a']", "['b'][0]", "['b'][1]['x']"]
    assert packed(structure_of(NESTED), iter(value for _, value in parts)) == NESTED


def test_the_order_of_keys_does_not_matter():
    assert structure_of({"a": 1, "b": 2}) == structure_of({"b": 2, "a": 1})


def test_structures_have_names_people_understand():
    assert described(structure_of(5)) == "one array"
    assert described(structure_of((1, 2))) == "a tuple of 2"
    assert described(structure_of({"image": 1, "label": 2})) == "a dict with 'image', 'label'"


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "int64"),
        (1.5, "float32"),
        (True, "bool"),
        (np.float64(1.5), "float64"),
        ([1, 2], "int64"),
        (np.zeros(2, ">f4"), "float32"),
    ],
)
def test_numbers_become_arrays(value, dtype):
    assert as_array(value, "").dtype.newbyteorder("=") == np.dtype(dtype)


def test_a_pillow_image_is_an_array():
    from PIL import Image

    assert as_array(Image.new("RGB", (4, 3)), "").shape == (3, 4, 3)


@pytest.mark.parametrize("value", ["ä", "ä".encode(), np.array("ä"), np.array("ä", object)])
def test_text_becomes_bytes(value):
    assert as_array(value, "").item() == "ä".encode()


def test_names_of_files_that_are_no_utf8_keep_their_bytes():
    assert as_array("a\udcff", "").item() == b"a\xff"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "it returned None at [0]; is a `return` missing?"),
        (object(), "it returned a object at [0], which is no array, number or text"),
        ([np.zeros(2), np.zeros(3)], "Return a tuple to keep its parts apart"),
        (np.array([1, "a"], object), "holds a int: only arrays of numbers or of texts"),
        (np.array(["2020"], "M8[Y]"), "has dtype datetime64[Y]"),
        (np.zeros(2, [("a", int)]), "has dtype [('a', '<i8')]"),
        (2**70, "the number it returned at [0] has over 64 bits"),
        (datetime.date(2020, 1, 1), "it returned a date at [0]"),
        ({1, 2}, "it returned a set at [0]"),
    ],
)
def test_what_is_no_array_is_refused_in_words(value, words):
    with pytest.raises(UnusableResultError) as refused:
        as_array(value, "[0]")
    assert words in str(refused.value)


def test_a_key_that_is_no_text_is_refused():
    with pytest.raises(UnusableResultError, match=r"the dict \[1\] has the key 3"):
        structure_of((1, {3: 1}))


def test_a_named_tuple_is_a_tuple():
    pair = collections.namedtuple("pair", "x y")
    assert structure_of(pair(1, 2)) == (None, None)

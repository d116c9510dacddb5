"""Shapes and places are named as the user writes them."""

import numpy as np

from quickfit.tuning.stepping.layouts import named_leaves, shapes_of


def test_leaves_are_named_by_the_expression_that_reaches_them():
    value = {"image": 1, "rest": [2, (3, None)]}
    names = [name for name, _ in named_leaves("x", value)]
    assert names == ["x['image']", "x['rest'][0]", "x['rest'][1][0]"]


def test_shape_of_one_array_is_its_shape():
    assert shapes_of(np.zeros((3, 2))) == "(3, 2)"


def test_shapes_of_several_are_named():
    assert shapes_of([np.zeros(3), np.zeros((3, 1))]) == "[0]: (3,), [1]: (3, 1)"


def test_nothing_is_said_to_be_nothing():
    assert shapes_of(None) == "None (no y was given)"

"""Warnings point at the line of the user."""

import warnings

import pytest

from quickfit.tuning import make_train_step
from quickfit.tuning.stepping.telling import warn


def test_place_is_the_line_outside_of_libraries():
    with pytest.warns(UserWarning, match="quickfit: something") as caught:
        warn("something")
    assert caught[0].filename == __file__


@pytest.mark.loads_tf
def test_place_is_the_call_of_a_step(models, batch):
    step = make_train_step(models.dense(), models.sparse(), "sgd")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        step(batch[0].astype("float64"), batch[1])
    assert [one.filename for one in caught] == [__file__]

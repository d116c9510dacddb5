"""The tables of names that are gone."""

import pytest

from quickfit.patterns.gone import MOVED_MODULES, PLAIN_ONLY, TF_ONLY, Gone, gone
from quickfit.patterns.gone_tensorflow import INSTEAD


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("keras.layers.core.Dense", Gone("keras.layers.core", "keras.layers")),
        (
            "tensorflow.keras.layers.core.Dense",
            Gone("tensorflow.keras.layers.core", "tensorflow.keras.layers"),
        ),
        ("keras.engine.topology.Layer", Gone("keras.engine.topology", "keras.layers")),
        ("keras.backend.mean", Gone("keras.backend.mean", "tensorflow.keras.backend.mean")),
        ("tensorflow.log", Gone("tensorflow.log", "tensorflow.math.log")),
        ("tensorflow.contrib.slim", Gone("tensorflow.contrib")),
    ],
)
def test_says_what_is_gone(name, found):
    assert gone(name) == found


@pytest.mark.parametrize(
    "name",
    [
        *("keras.layers.Dense", "tensorflow.keras.backend.mean", "tensorflow.math.log", "keras"),
        *("tensorflow.compat.v1.placeholder", "numpy.log", "keras.losses.mean_squared_error", ""),
    ],
)
def test_says_nothing_of_what_there_is(name):
    assert gone(name) is None


def test_what_takes_the_place_is_not_gone_itself():
    tables = (MOVED_MODULES, PLAIN_ONLY, INSTEAD)
    assert [new for table in tables for new in table.values() if gone(new)] == []
    of_tf = [f"tensorflow.{new}" for new in TF_ONLY.values()]
    assert [new for new in of_tf if gone(new)] == []

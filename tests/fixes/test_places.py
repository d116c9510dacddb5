"""Places as one says them."""

from quickfit.fixes.places import said
from quickfit.fixes.script import Script


def test_a_place_has_no_folder():
    assert said(Script("/project/src/train.py", "x = 1\n"), 41) == "train.py:41"

"""The names of what is in a batch."""

from quickfit.tuning.numerics.data import named


def test_leaves_have_the_names_one_would_write_for_them():
    batch = {"image": 1, "sizes": [2, (3, None)]}
    assert named(batch, "x") == [("x['image']", 1), ("x['sizes'][0]", 2), ("x['sizes'][1][0]", 3)]
    assert named(7, "y") == [("y", 7)]
    assert named(None, "y") == []

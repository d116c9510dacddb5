"""Steady growth is told from jumps, waves and too few readings."""

import pytest

from quickfit.signals.growth import _is_steady, _pooled, growth

from builders import run


def test_readings_of_one_step_are_put_together():
    assert _pooled([1, 2, 2, 2, 5], [10.0, 20.0, 21.0, 22.0, 50.0]) == [(1, 10), (2, 22), (5, 50)]


def test_many_readings_become_few_points():
    assert len(_pooled(list(range(1000)), [float(n) for n in range(1000)])) == 8


@pytest.mark.parametrize(
    ("done", "values", "is_steady"),
    [
        pytest.param([0, 10, 20, 30, 40], [0, 1, 2, 3, 4], True, id="even"),
        pytest.param([0, 10, 70, 75, 90], [0, 1, 7, 7.5, 9], True, id="uneven readings"),
        pytest.param([0, 10, 20, 30, 40], [0, 0, 0, 4, 4], False, id="a jump"),
        pytest.param([0, 10, 20, 30, 40], [0, 3, 1, 5, 4], False, id="a wave"),
        pytest.param([0, 10, 20, 30, 40], [4, 3, 2, 1, 0], False, id="a fall"),
        pytest.param([0, 10, 20], [0, 1, 2], False, id="too few"),
        pytest.param([7, 7, 7, 7, 7], [0, 1, 2, 3, 4], False, id="no steps"),
    ],
)
def test_growth_is_steady_only_if_it_goes_on(done, values, is_steady):
    assert _is_steady(done, [float(value) for value in values]) is is_steady


@pytest.mark.parametrize("points", [[], [(0.0, 1.0)], [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]])
def test_too_few_readings_are_no_growth(points):
    assert growth(points, run().steps) is None

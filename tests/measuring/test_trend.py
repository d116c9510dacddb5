"""Trends: ranks decide, in a few dozen blocks, at looks that grow apart."""

import random

import pytest

from quickfit.measuring.trend import (
    MEAN,
    MEDIAN,
    blocks_of,
    looks,
    mann_kendall,
    merged,
    slope,
    trend,
)


def noisy(value_at, count=600, seed=3):
    """Return a series with a tenth of noise."""
    draw = random.Random(seed)
    return [(float(n), value_at(n / count) * draw.uniform(0.9, 1.1)) for n in range(count)]


def test_a_series_that_rises_has_a_high_score_and_its_two_levels():
    went = trend(noisy(lambda part: 1.0 + part))
    assert went.z > 5
    assert went.is_steady
    assert went.first == pytest.approx(1.08, abs=0.04)
    assert went.last == pytest.approx(1.92, abs=0.04)
    assert went.growth == pytest.approx(0.84, abs=0.08)
    assert went.ratio == pytest.approx(went.last / went.first)


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_no_trend(seed):
    went = trend(noisy(lambda part: 1.0, seed=seed))
    assert abs(went.z) < 3


def test_one_jump_is_not_steady():
    went = trend(noisy(lambda part: 1.0 if part < 0.5 else 2.0))
    assert went.z > 4
    assert not went.is_steady


def test_growth_that_speeds_up_is_steady():
    assert trend(noisy(lambda part: 1.0 + 5 * part**2)).is_steady


def test_rare_outliers_change_nothing_in_medians():
    points = [(at, 100.0 if at % 50 == 0 else value) for at, value in noisy(lambda part: 1.0)]
    assert trend(points).last == pytest.approx(1.0, abs=0.05)


def test_the_mean_sees_work_that_is_done_every_twentieth_step():
    points = [(float(n), 10.0 * n / 600 if n % 20 == 0 else 0.1) for n in range(600)]
    assert trend(points, MEDIAN).growth == pytest.approx(0.0)
    assert trend(points, MEAN).growth > 0.3


def test_few_values_count_only_when_all_agree():
    assert trend([(1, 10.0), (2, 14.0), (3, 19.0), (4, 25.0)]).z > 3
    assert trend([(1, 10.0), (2, 14.0), (3, 13.0), (4, 25.0)]).z < 3
    assert trend([(1, 10.0), (2, 14.0), (3, 19.0)]) is None


def test_points_at_one_place_are_no_series():
    assert trend([(1.0, value) for value in (1.0, 2.0, 3.0, 4.0, 5.0)]) is None


@pytest.mark.parametrize("count", [600, 60_000])
def test_any_series_becomes_a_few_dozen_blocks(count):
    assert len(blocks_of(noisy(lambda part: 1.0, count), MEDIAN)) == MEDIAN.blocks


def test_a_hole_in_a_series_leaves_out_blocks():
    points = [point for point in noisy(lambda part: 1 + part) if not 200 < point[0] < 400]
    assert len(blocks_of(points, MEDIAN)) < MEDIAN.blocks
    assert trend(points).z > 4


def test_ties_say_nothing():
    assert mann_kendall([1.0] * 20) == 0.0
    assert mann_kendall([0.0] * 10 + [1.0] * 10) > 3


def test_a_falling_series_scores_below_nothing():
    assert mann_kendall([float(-n) for n in range(20)]) < -5


def test_the_slope_is_that_of_most_pairs():
    points = [(float(n), 2.0 * n) for n in range(10)]
    points[5] = (5.0, 500.0)
    assert slope(points) == pytest.approx(2.0)
    assert slope(points[:1]) == 0.0


def test_a_long_series_is_merged_and_stays_so_as_it_grows():
    points = noisy(lambda part: 1.0, 10_000)
    short, long = merged(points[:9_000], MEDIAN), merged(points, MEDIAN)
    assert 1_000 < len(long) <= 2_048
    assert short[:-1] == long[: len(short) - 1]
    assert merged(points[:2_000], MEDIAN) == points[:2_000]


def test_looks_grow_apart_and_never_stand_still():
    found = looks(1_000_000)
    assert found[0] == 8
    assert len(found) < 60
    assert looks(6, 4) == [4, 5, 6]
    assert looks(7) == []

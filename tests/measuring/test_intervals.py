"""A mean of ratios and its interval: the pair is the unit, and ratios multiply."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.measuring.intervals import MIN_SPREAD, interval

RATIOS = st.lists(st.floats(0.2, 5.0), min_size=2, max_size=8)


@given(RATIOS)
def test_the_mean_lies_within_the_interval_and_between_the_ratios(ratios):
    found = interval(ratios)
    assert found.low < found.mean < found.high
    assert min(ratios) * 0.999 <= found.mean <= max(ratios) * 1.001
    assert found.pairs == len(ratios)


@given(RATIOS)
def test_faster_and_slower_are_treated_alike(ratios):
    one, other = interval(ratios), interval([1 / ratio for ratio in ratios])
    assert one.mean == pytest.approx(1 / other.mean)
    assert one.low == pytest.approx(1 / other.high)


@given(RATIOS)
def test_a_widened_interval_holds_the_other(ratios):
    narrow, wide = interval(ratios), interval(ratios, widened=2.0)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert wide.mean == narrow.mean


def test_one_pair_says_nothing_of_the_spread():
    found = interval([1.8])
    assert (found.low, found.high, found.pairs) == (0.0, math.inf, 1)
    assert found.mean == pytest.approx(1.8)


def test_ratios_that_happen_to_agree_are_worth_no_more_than_the_machine_allows():
    found = interval([1.04, 1.04, 1.04])
    assert found.low == pytest.approx(1.04 * math.exp(-4.303 * MIN_SPREAD / math.sqrt(3)))
    assert found.low < 1.03


def test_half_and_double_are_no_gain():
    assert interval([0.5, 2.0]).mean == pytest.approx(1.0)


def test_more_pairs_that_agree_make_it_narrower():
    widths = [found.high / found.low for n in (2, 3, 6, 12) for found in [interval([1.2, 1.3] * n)]]
    assert widths == sorted(widths, reverse=True)


def test_three_pairs_use_students_factor_for_two_degrees_of_freedom():
    found = interval([1.0, 1.1, 1.21])
    half = 4.303 * math.log(1.1) / math.sqrt(3)
    assert found.mean == pytest.approx(1.1)
    assert found.high == pytest.approx(1.1 * math.exp(half))

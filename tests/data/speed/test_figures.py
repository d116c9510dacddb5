"""Rates and spreads from counts, and how a speed is printed."""

import math

import pytest
from speed.speeds import machine, span, speed

from quickfit.data.speed.figures import Span, together


def test_rates_follow_from_counts():
    found = span(100, 32, element_s=0.02, element_cpu_s=0.03)
    assert found.elements_per_s == pytest.approx(50)
    assert found.examples_per_s == pytest.approx(1600)
    assert found.cores == pytest.approx(1.5)
    assert found.unit == "batch"
    assert together([found, found]).elements_per_s == pytest.approx(50)


def test_nothing_counted_is_not_zero():
    nothing = Span(0, 0, 0.0, 0.0)
    assert math.isnan(nothing.element_s)
    assert math.isnan(nothing.examples_per_s)
    assert nothing.unit == "element"


def test_the_spread_is_that_of_the_blocks():
    assert speed().spread == 0.0
    uneven = (span(10, element_s=0.02), span(10, element_s=0.03), span(10, element_s=0.01))
    assert speed(blocks=uneven).spread == pytest.approx(0.5)


def test_the_first_pass_is_worth_a_word_if_it_was_much_slower():
    assert not speed().is_first_pass_unlike
    assert speed(first_pass=span(element_s=0.04)).is_first_pass_unlike
    assert not speed(first_pass=span(element_s=0.021)).is_first_pass_unlike
    assert speed(first_pass=span(element_s=0.021), has_cache=True).is_first_pass_unlike


@pytest.mark.parametrize(
    ("other", "own", "expected"),
    [(1.2, 0.9, True), (0.9, 0.4, False), (0.05, 1.95, False), (0.3, 1.7, False)],
)
def test_others_are_in_the_way_only_where_cores_run_out(other, own, expected):
    assert machine(other_cores=other).is_contended(own) is expected


def test_printed_it_is_the_table():
    assert repr(speed()).startswith("train.py:make: 1,600 examples/s (50 batches/s)\n")

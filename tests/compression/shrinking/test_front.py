"""The Pareto front."""

from itertools import permutations

import pytest

from compression.shrinking.rows_builder import row
from quickfit.compression.shrinking.front import with_front
from quickfit.compression.shrinking.rows import Row, Verdict


def front(*rows, **options):
    return {one.name for one in with_front(rows, **options) if one.is_on_front}


def test_who_is_beaten_in_every_respect_is_not_on_it():
    best = row("best", 0.95, 0.001, 10)
    assert front(best, row("worse", 0.94, 0.002, 20)) == {"best"}
    assert front(best, row("smaller", 0.90, 0.002, 5)) == {"best", "smaller"}
    assert front(best, row("faster", 0.90, 0.0005, 20)) == {"best", "faster"}
    assert front(best, row("more accurate", 0.96, 0.1, 2000)) == {"best", "more accurate"}


def test_times_within_a_few_percent_are_the_same():
    assert front(row("big", 0.95, 0.00100, 20), row("small", 0.95, 0.00104, 10)) == {"small"}
    assert front(row("big", 0.95, 0.00100, 20), row("small", 0.95, 0.00110, 10)) == {"big", "small"}


def test_of_equals_one_is_on_it():
    assert front(row("one"), row("two")) == {"one"}


@pytest.mark.parametrize("order", list(permutations([1.10, 1.05, 1.00])))
def test_no_three_beat_each_other_in_a_circle(order):
    rows = [row(str(time), 0.95, 0.0, step_s=time) for time in order]
    assert front(*rows, for_training=True) == {"1.0"}


def test_for_training_the_step_counts_and_the_size_does_not():
    slow = row("slow", 0.95, 0.001, 5, step_s=0.02)
    fast = row("fast", 0.95, 0.009, 50, step_s=0.01)
    assert front(slow, fast, for_training=True) == {"fast"}
    assert front(slow, fast) == {"slow"}


def test_what_was_not_measured_is_not_on_it():
    missing = Row("missing", "x", verdict=Verdict.NOT_MADE)
    assert front(row("one"), missing, Row("unmeasured", "x")) == {"one"}

"""Lines of the table."""

import pytest

from compression.shrinking.rows_builder import figures, row
from quickfit.compression.shrinking.rows import Figures, Row, Verdict, time_of, value_of


def test_what_was_not_made_is_not_there():
    assert row("a").is_there
    assert not Row("a", "x", verdict=Verdict.NOT_MADE).is_there


def test_the_time_that_counts_is_that_of_the_purpose():
    one = figures(time_s=0.001, step_s=0.02)
    assert time_of(one, for_training=False) == 0.001
    assert time_of(one, for_training=True) == 0.02
    assert time_of(Figures(), for_training=False) is None


@pytest.mark.parametrize(
    ("quantity", "value"),
    [("time", 0.001), ("size", 100_000), ("flops", 1_000_000), ("parameters", 20_000)],
)
def test_a_demand_finds_its_figure(quantity, value):
    assert value_of(figures(), quantity, for_training=False) == value
    assert value_of(Figures(), quantity, for_training=False) is None

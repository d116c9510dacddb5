"""How sure a share is, by its samples."""

import pytest

from quickfit.errors import SignalMissing
from quickfit.signals._host import HotLine
from quickfit.signals.intervals import (
    is_at_least,
    share_interval,
    speaks_against,
)

from builders import run


@pytest.mark.parametrize(
    ("share", "samples", "low", "high"),
    [
        pytest.param(0.5, 0, 0.0, 1.0, id="nothing seen says nothing"),
        pytest.param(1.0, 5, 0.56, 1.0, id="five that agree are more than half"),
        pytest.param(0.0, 40, 0.0, 0.09, id="never in forty is less than a tenth"),
        pytest.param(0.5, 10_000, 0.49, 0.51, id="many are sure"),
    ],
)
def test_a_share_of_samples_lies_between(share, samples, low, high):
    assert share_interval(share, samples) == pytest.approx((low, high), abs=0.005)


def test_a_share_is_large_enough_not_or_not_yet_known():
    assert is_at_least(0.1, 0.3, (0.2, 0.4), "samples")
    assert not is_at_least(0.1, 0.05, (0.0, 0.4), "samples")
    with pytest.raises(SignalMissing) as missing:
        is_at_least(0.1, 0.3, (0.05, 0.6), "samples in a save")
    assert missing.value.needs == "more samples in a save: 5% to 60% so far"


def test_samples_speak_against_the_clock_when_it_is_not_chance():
    assert speaks_against(0.0, 40, 0.3, 0.5)
    assert not speaks_against(0.0, 3, 0.3, 0.5)
    assert not speaks_against(0.2, 400, 0.3, 0.5)


@pytest.mark.parametrize(
    ("share", "samples", "is_certain"),
    [(1.0, 1, False), (1.0, 2, True), (0.4, 5, False), (0.6, 5, True), (0.14, 500, True)],
)
def test_a_line_is_certain_when_it_is_more_than_chance(share, samples, is_certain):
    where = run().loop.location
    assert HotLine(where, share, samples).is_certain is is_certain

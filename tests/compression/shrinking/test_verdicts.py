"""Accept and reject."""

import pytest

from compression.shrinking.rows_builder import figures, row
from quickfit.compression.shrinking.rows import ORIGINAL, Row, Verdict
from quickfit.compression.shrinking.targets import Target, target_of
from quickfit.compression.shrinking.verdicts import judged, misses

BASE = figures(0.95, 0.001, 100_000)


def verdict(one, target=None, *, for_training=False):
    return judged(one, BASE, target or Target(), for_training=for_training)


def test_faster_or_smaller_is_enough():
    for one in (row("a", 0.95, 0.0009), row("a", 0.95, 0.001, 90_000)):
        assert verdict(one).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize("share", [0.95, 1.0, 1.3])
def test_neither_faster_nor_smaller_is_rejected(share):
    found = verdict(row("a", 0.95, 0.001 * share, int(100_000 * share)))
    assert found.verdict is Verdict.REJECTED
    assert found.reason == (
        f"neither faster nor smaller: {share:.2f} of the time, {share:.2f} of the size"
    )


def test_for_training_only_the_step_counts():
    slow = verdict(row("a", 0.95, 0.0001, 10, step_s=0.021), for_training=True)
    assert slow.reason == "not faster: 1.05 of the time of a step"
    assert verdict(row("a", step_s=0.01), for_training=True).verdict is Verdict.ACCEPTED


def test_for_training_a_device_that_makes_it_slower_is_warned_of():
    slow = verdict(row("a", step_s=0.026, flops=180_000), for_training=True)
    assert slow.verdict is Verdict.REJECTED
    assert slow.reason == (
        "slower on this device: a training step takes 1.3× as long, with 18 % of the operations"
    )


def test_too_much_loss_is_rejected():
    found = verdict(row("a", 0.92, 0.0001))
    assert (found.verdict, found.reason) == (Verdict.REJECTED, "loses 3.0 points; 1 allowed")
    assert verdict(row("a", 0.949, 0.0001), target_of("no loss")).reason == (
        "loses 0.1 points; none allowed"
    )
    assert verdict(row("a", 0.89, 0.0001), target_of("accuracy at least 90 %")).reason == (
        "right for 89.0%; 90.0% is asked for"
    )


def test_a_smaller_one_that_is_slower_is_accepted_and_said():
    found = verdict(row("a", 0.95, 0.002, 10_000))
    assert found.verdict is Verdict.ACCEPTED
    assert found.reason == (
        "smaller, but slower here: 2.0× as long for a batch of 1, 2.0× as long for a batch of 64"
    )


def test_what_is_not_there_stays_so():
    missing = Row("a", "x", verdict=Verdict.NOT_MADE, reason="no time")
    assert verdict(missing) == missing
    assert verdict(Row("a", "x")).verdict is Verdict.NOT_MEASURED
    assert verdict(row(ORIGINAL)).verdict is Verdict.ORIGINAL


def test_demands_that_are_missed_are_told_with_what_was_reached():
    target = target_of("2x faster, half the size, half the flops")
    found = misses(row("a", 0.95, 0.0008, 40_000), BASE, target, for_training=False)
    assert found == [
        "2.0× faster: 1.25× as fast, 800 µs",
        "2.0× fewer flops: 1,000,000, 100 % of the original's",
    ]
    assert misses(Row("a", "x"), BASE, target_of("half the size"), for_training=False) == [
        "2.0× smaller: not known"
    ]

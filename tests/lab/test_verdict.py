"""Whether pairs show a gain: a rule that looks after each of them."""

import math
import random

import pytest

from quickfit.lab.verdict import MOST_PAIRS, VerdictKind, judge_gain

ACCEPTED, NO_GAIN, OPEN = VerdictKind.ACCEPTED, VerdictKind.NO_GAIN, VerdictKind.NOT_DECIDED


@pytest.mark.parametrize(
    ("ratios", "kind", "is_open"),
    [
        pytest.param([], OPEN, True, id="nothing yet"),
        pytest.param([0.5], NO_GAIN, True, id="one pair never decides"),
        pytest.param([9.0], OPEN, True, id="not even a large one"),
        pytest.param([0.9, 0.95], NO_GAIN, False, id="two that are no faster"),
        pytest.param([1.01, 1.02], NO_GAIN, True, id="two that are hardly faster"),
        pytest.param([3.0, 3.05], ACCEPTED, False, id="two that are plainly faster"),
        pytest.param([2.0, 0.4], OPEN, False, id="two that differ too much to say no"),
        pytest.param([1.2, 1.3], OPEN, True, id="two are too few for a small gain"),
        pytest.param([1.8, 1.8, 1.75], ACCEPTED, False, id="three that agree"),
        pytest.param([1.0, 1.01, 1.0], NO_GAIN, False, id="three that are hardly faster"),
        pytest.param([1.5, 0.9, 1.4], OPEN, True, id="three that do not agree"),
        pytest.param([1.5, 0.9, 1.4, 1.5, 0.9, 1.4], OPEN, False, id="six that do not agree"),
    ],
)
def test_pairs_decide(ratios, kind, is_open):
    found = judge_gain(ratios)
    assert (found.kind, found.is_open) == (kind, is_open)
    assert bool(found.why) is (kind is not ACCEPTED)


def test_pairs_that_were_not_in_turns_need_more():
    assert judge_gain([1.3, 1.31, 1.32]).kind is ACCEPTED
    assert judge_gain([1.3, 1.31, 1.32], widened=8.0).kind is OPEN


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.1, 0.3])
def test_edits_that_change_nothing_are_hardly_ever_accepted(noise):
    draw = random.Random(7)
    accepted = 0
    for _ in range(2000):
        ratios = []
        while judge_gain(ratios).is_open and len(ratios) < MOST_PAIRS:
            ratios.append(math.exp(draw.gauss(0.0, noise)))
        accepted += judge_gain(ratios).kind is ACCEPTED
    # 3.1 % at a noise of 0.3, where the mean of three pairs is off by a fifth.
    assert accepted / 2000 < 0.045

"""Iterators that begin anew, from the text of a program."""

import pytest

from quickfit.causes.traps.first_batch_again import CAUSE

from programs import lines, pair

NAME = "first-batch-again"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace(".batch(32)", ".shuffle(9).batch(32)"), id="with a shuffle"
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace(
                "    model.train_on_batch(inputs, labels)", "    print(inputs)"
            ),
            id="a look",
        ),
        pytest.param(
            pair(NAME, "slow").replace(
                "    inputs, labels =", "    ds = ds.skip(1)\n    inputs, labels ="
            ),
            id="a dataset of each turn",
        ),
        pytest.param(
            pair(NAME, "slow").replace("for _ in range(10):", "if True:"), id="not in a loop"
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []

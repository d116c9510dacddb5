"""Datasets that nothing shuffles, from the text of a program."""

import pytest

from quickfit.causes.traps.never_shuffled import CAUSE

from programs import lines, pair

NAME = "never-shuffled"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace(".batch(32)", ".map(f).cache().batch(32).prefetch(1)"),
            id="mapped and cached",
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(pair(NAME, "slow").replace("epochs=3", "epochs=1"), id="one epoch"),
        pytest.param(
            pair(NAME, "slow").replace(".batch(32)", ".window(9).batch(32)"), id="windows"
        ),
        pytest.param(pair(NAME, "slow").replace("model.fit(ds", "model.fit(x, y"), id="arrays"),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []

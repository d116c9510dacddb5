"""Indexes that nothing reads, from the text of a program."""

import pytest

from quickfit.causes.traps.unused_shuffle import CAUSE

from programs import lines, pair

NAME = "unused-shuffle"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace("return len(self.x)", "return len(self.order)"),
            id="its length is read",
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
                "    def on_epoch_end",
                "    def rows(self):\n        return self.order[:9]\n\n    def on_epoch_end",
            ),
            id="another method reads it",
        ),
        pytest.param(
            pair(NAME, "slow").replace("(keras.utils.PyDataset)", "(object)"),
            id="a class of another kind",
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []

"""Shuffles of batches, from the text of a program."""

import pytest

from quickfit.causes.traps.batch_before_shuffle import CAUSE
from quickfit.findings import FixClass

from programs import code_of, fixed, lines, pair, spots

NAME = "batch-before-shuffle"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace(".batch(32).shuffle", ".batch(32).map(f).shuffle"),
            id="a map between",
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace(".shuffle(256)", ".shuffle(256).batch(8)"),
            id="windows of text",
        ),
        pytest.param(
            pair(NAME, "slow").replace(".batch(32)", ".shuffle(9).batch(32)"), id="shuffled before"
        ),
        pytest.param(pair(NAME, "slow").replace(".batch(32)", ".batch(1)"), id="batches of one"),
        pytest.param(
            pair(NAME, "slow").replace(".shuffle(256)", ".shuffle(256).take(1)"), id="a look at one"
        ),
        pytest.param(
            pair(NAME, "slow").replace(".batch(32)", ".batch(32).unbatch()"), id="taken apart again"
        ),
        pytest.param(
            pair(NAME, "slow").replace("tf.data.Dataset.from_tensor_slices((x, y))", "load()"),
            id="a source that nobody knows",
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_the_edit_makes_one_of_the_other():
    assert code_of(fixed(CAUSE, pair(NAME, "slow"))) == code_of(pair(NAME, "fixed"))
    assert spots(CAUSE, pair(NAME, "slow"))[0].change.kind is FixClass.MAY_CHANGE_RESULTS

"""Splits behind a shuffle, from the text of a program."""

import pytest

from quickfit.causes.traps.split_after_shuffle import CAUSE
from quickfit.findings import FixClass

from programs import code_of, fixed, lines, pair, spots

NAME = "split-after-shuffle"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace("shuffle(256)", "shuffle(256, seed=1).map(f)"),
            id="a seed, and a map between",
        ),
        pytest.param(
            pair(NAME, "slow").replace("ds.skip(64)", "ds.skip(64).take(99)"), id="cut again"
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace("shuffle(256)", "shuffle(256).cache()"), id="cached between"
        ),
        pytest.param(pair(NAME, "slow").replace("ds.skip(64)", "ds"), id="a look at some"),
        pytest.param(pair(NAME, "slow").replace("ds.take(64)", "ds.take(1)"), id="other sizes"),
        pytest.param(
            pair(NAME, "slow")
            .replace(".shuffle(256)", "")
            .replace("ds.skip(64)", "ds.skip(64).shuffle(9)"),
            id="split first",
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_the_edit_makes_one_of_the_other():
    assert code_of(fixed(CAUSE, pair(NAME, "slow"))) == code_of(pair(NAME, "fixed"))
    assert spots(CAUSE, pair(NAME, "slow"))[0].change.kind is FixClass.REPAIRS

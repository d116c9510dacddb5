"""Caches behind a shuffle, from the text of a program."""

import pytest

from quickfit.causes.traps.cache_after_shuffle import CAUSE
from quickfit.findings import FixClass

from programs import code_of, fixed, lines, pair, spots

NAME = "cache-after-shuffle"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace(
                ".shuffle(256).cache()", "\nds = ds.shuffle(256)\nds = ds.map(f)\nds = ds.cache()"
            ),
            id="over names",
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
                "shuffle(256)", "shuffle(256, reshuffle_each_iteration=False)"
            ),
            id="one order is meant",
        ),
        pytest.param(
            pair(NAME, "slow").replace("ds.batch(32)", "ds.shuffle(64).batch(32)"),
            id="shuffled behind as well",
        ),
        pytest.param(
            pair(NAME, "slow")
            .replace("ds = tf", "val_ds = tf")
            .replace("model.fit(ds", "model.fit(ds"),
            id="data to validate with",
        ),
        pytest.param(
            pair(NAME, "slow").replace("ds.batch(32)", "ds.take(9).batch(32)"), id="a split behind"
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []


def test_the_edit_makes_one_of_the_other():
    assert code_of(fixed(CAUSE, pair(NAME, "slow"))) == code_of(pair(NAME, "fixed"))
    assert spots(CAUSE, pair(NAME, "slow"))[0].change.kind is FixClass.MAY_CHANGE_RESULTS

"""Normalisations without data, from the text of a program."""

import pytest

from quickfit.causes.traps.normalization_not_adapted import CAUSE

from programs import lines, pair

NAME = "normalization-not-adapted"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace("Normalization()", "Normalization(mean=0.5, variance=2.0)"),
            id="numbers are given",
        ),
        pytest.param(
            pair(NAME, "slow").replace(
                "model.fit", 'model.load_weights("a.weights.h5")\nmodel.fit'
            ),
            id="loaded",
        ),
        pytest.param(
            pair(NAME, "slow").replace("model.fit", "model.predict"), id="nothing is trained"
        ),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []

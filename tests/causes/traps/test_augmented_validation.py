"""Validation images that are augmented, from the text of a program."""

import pytest

from quickfit.causes.traps.augmented_validation import CAUSE

from programs import lines, pair

NAME = "augmented-validation"


def test_reports_the_pair_and_not_its_better_half():
    assert len(lines(CAUSE, pair(NAME, "slow"))) == 1
    assert lines(CAUSE, pair(NAME, "fixed")) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pair(NAME, "slow").replace(
                "val = images.flow_from_directory(folder", "val = images.flow_from_dataframe(folder"
            ),
            id="from a table",
        ),
    ],
)
def test_reports(text):
    assert len(lines(CAUSE, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(pair(NAME, "slow").replace(", rotation_range=40", ""), id="only scaled"),
        pytest.param(
            pair(NAME, "slow").replace("rotation_range=40", "horizontal_flip=False"),
            id="nothing is turned",
        ),
        pytest.param(pair(NAME, "slow").replace('"validation"', '"training"'), id="training alone"),
    ],
)
def test_stays_silent_on(text):
    assert lines(CAUSE, text) == []

"""Rows as plain values, and when a loss counts as worse."""

import json
import math

import pytest

from quickfit.tuning.advice.rows import Loss

from tuning.advice.advice_builder import NOT_TRIED, SLOWER, XLA


@pytest.mark.parametrize(
    ("after", "unchanged", "is_worse"),
    [
        (0.5, 0.5, False),
        (0.54, 0.5, False),
        (0.56, 0.5, True),
        (-0.9, -1.0, False),
        (-0.8, -1.0, True),
        (math.nan, 0.5, True),
        (math.inf, 0.5, True),
        (math.nan, math.nan, False),
        (0.5, math.nan, False),
        (0.0, 0.0, False),
    ],
)
def test_a_loss_is_worse_by_a_tenth_or_when_it_is_no_number(after, unchanged, is_worse):
    assert Loss(100, 2.3, after, unchanged).is_worse is is_worse


def test_a_row_as_json_has_all_figures_in_plain_units():
    found = XLA.as_json()
    assert found["gain"] == {"low": 1.31, "mean": 1.42, "high": 1.54, "pairs": 3}
    assert found["pays_after_steps"] == 1240
    assert found["loss"] == {"samples": 2048, "before": 2.31, "after": 0.62, "unchanged": 0.61}
    assert found["setting"] == {"jit": True}
    assert found["verdict"] == "advised"


def test_what_json_has_no_number_for_is_null():
    text = json.dumps([SLOWER.as_json(), NOT_TRIED.as_json()], allow_nan=False)
    slower, not_tried = json.loads(text)
    assert slower["gain"] == {"low": None, "mean": 0.9, "high": None, "pairs": 1}
    assert not_tried["gain"] is None
    assert not_tried["loss"] is None

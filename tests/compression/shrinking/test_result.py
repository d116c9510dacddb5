"""What is given back."""

import json

import pytest

from compression.shrinking.rows_builder import a_result, figures, row
from quickfit.compression.shrinking.result import (
    CandidateFigures,
    CandidateRow,
    CandidateVerdict,
    time_of,
    value_of,
)


def test_it_is_json_with_everything_in_it():
    found = json.loads(json.dumps(a_result(chosen="pruned-50-int8", took_s=1.23456).as_json()))
    assert (found["target"], found["for"], found["chosen"]) == (
        "at most 1 point lost",
        "inference",
        "pruned-50-int8",
    )
    assert found["took_s"] == 1.235
    row = found["candidates"][2]
    assert row["latency_s"] == {"1": 0.0001, "64": 0.002}
    assert (row["verdict"], row["is_on_front"], row["held_out_accuracy"]) == ("chosen", True, 0.94)
    assert row["path"].endswith("pruned-50-int8.tflite")


def test_rows_are_found_by_name():
    result = a_result()
    assert result.original.name == "original"
    assert [one.name for one in result.front] == ["pruned-50-int8"]
    assert result.row("pruned-75").reason == "loses 15 points"


def test_what_was_not_made_is_not_there():
    assert row("a").is_there
    assert not CandidateRow("a", "x", verdict=CandidateVerdict.NOT_MADE).is_there


def test_the_time_that_counts_is_that_of_the_purpose():
    one = figures(time_s=0.001, step_s=0.02)
    assert time_of(one, for_training=False) == 0.001
    assert time_of(one, for_training=True) == 0.02
    assert time_of(CandidateFigures(), for_training=False) is None


@pytest.mark.parametrize(
    ("quantity", "value"),
    [("time", 0.001), ("size", 100_000), ("flops", 1_000_000), ("parameters", 20_000)],
)
def test_a_demand_finds_its_figure(quantity, value):
    assert value_of(figures(), quantity, for_training=False) == value
    assert value_of(CandidateFigures(), quantity, for_training=False) is None

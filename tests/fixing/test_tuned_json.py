"""The JSON about a script has the names and types of the JSON about a function."""

import json

import pytest

from fixing.tuned_runs import FAST, SAME, STEPS32, XLA, tried, watched
from quickfit.fixing.tuned import Tuned
from quickfit.fixing.tuned_json import as_json
from quickfit.fixing.tuned_trials import Training, Tried
from quickfit.tuning.advice.result import Advice, TrainingBaseline
from stories import BATCH, outcome, story, write_script


@pytest.fixture
def facts(tmp_path):
    """Return what is said of settings that were tried."""
    path = write_script(tmp_path)

    def make(*found, **given):
        told = story(tmp_path, outcome(path, BATCH))
        tuned = Tuned(told, watched(**given), Training(32, 0.1, 100, 300), list(found), took_s=9.0)
        return json.loads(json.dumps(as_json(tuned), allow_nan=False))

    return make


def test_every_name_of_advise_is_there(facts):
    baseline = TrainingBaseline(32, None, 1, None, None, 0)
    wanted = Advice("a", "b", baseline, ()).as_json()
    found = facts(tried(XLA, *FAST, loss=(0.5, 0.5)))
    assert wanted.keys() <= found.keys()
    assert wanted["baseline"].keys() <= found["baseline"].keys()


def test_values_are_of_the_types_that_advise_has(facts):
    found = facts(tried(STEPS32, *FAST, loss=(0.5, 0.5)))
    assert found["baseline"]["peak_bytes"] == 600_000_000
    assert isinstance(found["baseline"]["peak_bytes"], int)
    assert isinstance(found["rows"][0]["peak_bytes"], int)
    assert found["baseline"]["samples"] == 3200
    assert found["baseline"]["loss"] == {"samples": 1024, "before": 0.9, "after": 0.5}
    assert found["took_s"] == 9.0
    assert found["lines"] == ["ds = ds.batch(256)"]
    assert found["notes"] == []
    assert found["remarks"] == []


def test_the_class_of_what_was_measured_is_told(facts):
    rows = facts(tried(XLA, *SAME, why="gains less"), Tried(STEPS32, why="interrupted"))["rows"]
    assert [row["class"] for row in rows] == ["may-change-results", None]
    assert [row["reason"] for row in rows] == ["gains less", "interrupted"]


def test_what_was_measured_too_little_is_not_decided(facts):
    found = facts(tried(XLA, 1.2, 6.3, why="the time was used up after 2 of 3 pairs"))
    assert found["rows"][0]["verdict"] == "not decided"
    assert found["deciding_budget_s"] == 1200.0
    assert facts(tried(XLA, *FAST))["deciding_budget_s"] is None


def test_waiting_is_told_as_a_gain_and_a_note(facts):
    found = facts(tried(XLA, *FAST), input_wait_s=0.05)
    assert found["is_input_bound"]
    assert found["input_gain"] > 1.9
    assert found["notes"][0].startswith("Your input is the limit")

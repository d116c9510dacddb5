"""`slow-step`: what was said while the run was quiet is what the report says."""

import dataclasses

import pytest

from quickfit.causes import catalogue
from quickfit.causes.stuck.slow_step import CAUSE, detect, show_slow_step
from quickfit.findings import FixClass, Symptom
from scenes import (
    MOVING,
    STUCK,
    library,
    thread,
    user,
)
from silences import noted, quiet_run

from builders import run

fix = catalogue()["slow-step"].fix


def test_fires_with_what_was_seen_and_where():
    found = detect(quiet_run(noted("slow-step")))
    assert found is not None
    assert (found.summary, found.where.line) == ("slow-step was seen", 6)
    assert [one.value for one in found.evidence] == [1.0, 31.0, 31.0]
    assert not found.is_past
    assert CAUSE.symptom == Symptom.STUCK


def test_a_run_that_went_on_is_told_of_in_the_past():
    found = detect(quiet_run(noted("slow-step", moved_again_s=1050.0)))
    assert found.is_past
    assert found.evidence[-1].detail == "a step came later"


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(quiet_run(), id="a run that was looked at and moved"),
        pytest.param(quiet_run(noted("held-lock")), id="held-lock"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_the_fix_shows_code_that_makes_a_step_shorter():
    signals = quiet_run(noted("slow-step"))
    shown = fix(detect(signals), signals)
    assert shown.kind == FixClass.SHOW_ONLY
    assert "batch_size=64" in shown.example


def changed(name, **given):
    return dataclasses.replace(SCENES[name], **given)


SCENES = {**STUCK, **MOVING}


def test_a_step_is_timed_from_the_end_of_its_tracing():
    """The first step of a run is also its imports, its model and its tracing to the silence."""
    found = show_slow_step(changed("slow-step", quiet_s=48.0, still_s=7.0))
    assert found.summary == "one step takes more than 7.0 s"
    assert found.lasted_s == 7.0


def test_a_long_step_is_told_with_the_longest_before():
    found = show_slow_step(MOVING["slow-step"])
    assert found.summary == "one step takes more than 20 s"
    assert found.evidence[1].detail == "the longest before took 15 s"


def test_python_code_between_steps_is_no_long_step():
    main = thread("main", library("json/encoder.py"), user("text = open", "on_epoch_end"))
    assert show_slow_step(changed("slow-step", threads=(main,))) is None

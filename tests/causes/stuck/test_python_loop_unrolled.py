"""`python-loop-unrolled`: what was said while the run was quiet is what the report says."""

import dataclasses

import pytest

from quickfit.causes import catalogue
from quickfit.causes.stuck.python_loop_unrolled import CAUSE, detect, show_unrolled_loop
from quickfit.findings import FixClass, Symptom
from scenes import (
    MOVING,
    STUCK,
    at,
)
from silences import noted, quiet_run

from builders import run

fix = catalogue()["python-loop-unrolled"].fix


def test_fires_with_what_was_seen_and_where():
    found = detect(quiet_run(noted("python-loop-unrolled")))
    assert found is not None
    assert (found.summary, found.where.line) == ("python-loop-unrolled was seen", 6)
    assert [one.value for one in found.evidence] == [1.0, 31.0, 31.0]
    assert not found.is_past
    assert CAUSE.symptom == Symptom.STUCK


def test_a_run_that_went_on_is_told_of_in_the_past():
    found = detect(quiet_run(noted("python-loop-unrolled", moved_again_s=1050.0)))
    assert found.is_past
    assert found.evidence[-1].detail == "a step came later"


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(quiet_run(), id="a run that was looked at and moved"),
        pytest.param(quiet_run(noted("xla-first-compile")), id="xla-first-compile"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_the_fix_shows_code_that_keeps_the_loop_a_loop():
    signals = quiet_run(noted("python-loop-unrolled"))
    shown = fix(detect(signals), signals)
    assert shown.kind == FixClass.SHOW_ONLY
    assert "tf.range(" in shown.example


def test_an_unrolled_loop_is_told_at_the_loop():
    found = show_unrolled_loop(STUCK["python-loop-unrolled"])
    assert found.where == at("for i in range")
    assert "31,000 operations so far" in found.summary
    assert (found.is_certain, found.moves) == (True, True)


def changed(name, **given):
    return dataclasses.replace(SCENES[name], **given)


SCENES = {**STUCK, **MOVING}


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"operations": 400}, id="a small graph"),
        pytest.param({"since_s": 995.0}, id="a short trace"),
        pytest.param({"place": None}, id="no line of the user's"),
        pytest.param({"place": at("return state")}, id="no loop"),
    ],
)
def test_no_loop_is_unrolled_with(given):
    tracing = dataclasses.replace(STUCK["python-loop-unrolled"].tracing, **given)
    assert show_unrolled_loop(changed("python-loop-unrolled", tracing=tracing)) is None

"""`held-lock`: what was said while the run was quiet is what the report says."""

import pytest

from quickfit.causes.stuck.held_lock import CAUSE, detect, fix
from quickfit.findings import FixClass, Symptom
from silences import noted, quiet_run

from builders import run


def test_fires_with_what_was_seen_and_where():
    found = detect(quiet_run(noted("held-lock")))
    assert found is not None
    assert (found.summary, found.where.line) == ("held-lock was seen", 6)
    assert [one.value for one in found.evidence] == [1.0, 31.0, 31.0]
    assert not found.is_past
    assert CAUSE.symptom == Symptom.STUCK


def test_a_run_that_went_on_is_told_of_in_the_past():
    found = detect(quiet_run(noted("held-lock", moved_again_s=1050.0)))
    assert found.is_past
    assert found.evidence[-1].detail == "a step came later"


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(quiet_run(), id="a run that was looked at and moved"),
        pytest.param(quiet_run(noted("generator-never-yields")), id="generator-never-yields"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_the_fix_shows_code_that_gives_a_lock_back():
    signals = quiet_run(noted("held-lock"))
    shown = fix(detect(signals), signals)
    assert shown.kind == FixClass.SHOW_ONLY
    assert "with lock:" in shown.example

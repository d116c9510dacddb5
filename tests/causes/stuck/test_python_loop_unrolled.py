"""`python-loop-unrolled`: what was said while the run was quiet is what the report says."""

import pytest

from quickfit.causes.stuck.python_loop_unrolled import CAUSE, detect, fix
from quickfit.findings import FixClass, Symptom
from silences import noted, quiet_run

from builders import run


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

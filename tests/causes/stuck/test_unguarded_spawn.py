"""`unguarded-spawn`: what was said while the run was quiet is what the report says."""

import dataclasses

import pytest

from quickfit.causes import catalogue
from quickfit.causes.stuck.unguarded_spawn import CAUSE, detect, show_script_run_again
from quickfit.findings import FixClass, Symptom
from scenes import STUCK, TWINS
from silences import noted, quiet_run

from builders import run

fix = catalogue()["unguarded-spawn"].fix


def test_fires_with_what_was_seen_and_where():
    found = detect(quiet_run(noted("unguarded-spawn")))
    assert found is not None
    assert (found.summary, found.where.line) == ("unguarded-spawn was seen", 6)
    assert [one.value for one in found.evidence] == [1.0, 31.0, 31.0]
    assert not found.is_past
    assert CAUSE.symptom == Symptom.STUCK


def test_a_run_that_went_on_is_told_of_in_the_past():
    found = detect(quiet_run(noted("unguarded-spawn", moved_again_s=1050.0)))
    assert found.is_past
    assert found.evidence[-1].detail == "a step came later"


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(quiet_run(), id="a run that was looked at and moved"),
        pytest.param(quiet_run(noted("fork-deadlock")), id="fork-deadlock"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_the_fix_shows_code_that_has_the_guard():
    signals = quiet_run(noted("unguarded-spawn"))
    shown = fix(detect(signals), signals)
    assert shown.kind == FixClass.SHOW_ONLY
    assert 'if __name__ == "__main__":' in shown.example


def test_workers_that_run_the_script_again_are_told_with_the_line_that_starts_them():
    found = show_script_run_again(STUCK["unguarded-spawn"])
    assert found.where.text.startswith("pool = ")
    assert found.also.text == "import tensorflow as tf"
    assert found.is_certain


def test_workers_of_a_guarded_script_import_it_and_that_is_fine():
    assert show_script_run_again(TWINS["unguarded-spawn"]) is None


def changed(name, **given):
    return dataclasses.replace(STUCK[name], **given)


def test_one_young_worker_of_a_script_that_moves_is_no_reason():
    assert show_script_run_again(changed("unguarded-spawn", children_born=1, still_s=0.5)) is None


def test_without_the_scripts_text_nothing_is_said_of_its_guard():
    assert show_script_run_again(changed("unguarded-spawn", sources={})) is None

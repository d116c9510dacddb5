"""`waits-for-stdin`: what was said while the run was quiet is what the report says."""

import pytest

from quickfit.causes import catalogue
from quickfit.causes.stuck.waits_for_stdin import CAUSE, detect, show_prompt
from quickfit.findings import FixClass, Symptom
from scenes import (
    SCRIPT,
    STUCK,
    TWINS,
    at,
    library,
    scene,
    thread,
    user,
)
from silences import noted, quiet_run

from builders import run

fix = catalogue()["waits-for-stdin"].fix


def test_fires_with_what_was_seen_and_where():
    found = detect(quiet_run(noted("waits-for-stdin")))
    assert found is not None
    assert (found.summary, found.where.line) == ("waits-for-stdin was seen", 6)
    assert [one.value for one in found.evidence] == [1.0, 31.0, 31.0]
    assert not found.is_past
    assert CAUSE.symptom == Symptom.STUCK


def test_a_run_that_went_on_is_told_of_in_the_past():
    found = detect(quiet_run(noted("waits-for-stdin", moved_again_s=1050.0)))
    assert found.is_past
    assert found.evidence[-1].detail == "a step came later"


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(quiet_run(), id="a run that was looked at and moved"),
        pytest.param(quiet_run(noted("slow-storage")), id="slow-storage"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_the_fix_shows_code_that_asks_nobody():
    signals = quiet_run(noted("waits-for-stdin"))
    shown = fix(detect(signals), signals)
    assert shown.kind == FixClass.SHOW_ONLY
    assert "--overwrite" in shown.example


def test_a_question_that_nobody_answers_is_certain():
    found = show_prompt(STUCK["waits-for-stdin"])
    assert (found.cause, found.where, found.is_certain) == (
        "waits-for-stdin",
        at("answer = input"),
        True,
    )


def test_a_debugger_is_called_one():
    frames = (library("python3.11/pdb.py", "interaction"), user("image = load(path)"))
    main = thread("main", *frames, waits_in="poll", waits_for="stdin")
    assert "a debugger's prompt" in show_prompt(scene(threads=(main,))).summary


def test_a_question_is_believed_without_the_systems_word_but_not_at_once():
    main = thread("main", user("answer = input", "<module>"), waits_in="", cores=None)
    assert show_prompt(scene(threads=(main,))).is_certain is False


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"waits_in": "futex"}, id="it sleeps in something else"),
        pytest.param({"cores": 0.8, "waits_in": "read", "waits_for": "stdin"}, id="it works"),
        pytest.param({"waits_in": "", "share": 0.5, "cores": None}, id="it moves"),
    ],
)
def test_a_line_that_asks_but_does_not_wait_is_no_question(given):
    main = thread("main", user("answer = input", "<module>"), **given)
    assert show_prompt(scene(threads=(main,))) is None


def test_reading_data_from_a_pipe_is_no_question():
    assert show_prompt(TWINS["waits-for-stdin"]) is None


def test_a_pipe_through_which_nothing_comes_is_told_after_the_limit_only():
    source = "for line in sys.stdin:\n    rows.append(line)\n"
    main = thread("main", user("sys.stdin", source=source), waits_in="read", waits_for="stdin")
    found = show_prompt(scene(threads=(main,), sources={SCRIPT: source}))
    assert "something to come through stdin" in found.summary
    assert not found.is_certain

"""`held-lock`: what was said while the run was quiet is what the report says."""

import dataclasses

import pytest

from quickfit.causes import catalogue
from quickfit.causes.stuck.held_lock import CAUSE, detect, show_held_lock
from quickfit.findings import FixClass, Symptom
from scenes import EXECUTE, STUCK, fit, library, main_in_fit, making, scene, thread, user
from silences import noted, quiet_run

from builders import run

fix = catalogue()["held-lock"].fix


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


def test_both_lines_of_a_held_lock_are_told():
    found = show_held_lock(STUCK["held-lock"])
    assert (found.where.short, found.also.short) == ("train.py:3", "train.py:8")
    assert "holds it at train.py:8" in found.summary
    assert not found.is_certain  # a lock may be held for a while


def test_two_threads_that_wait_for_each_other_are_told():
    waits = main_in_fit(library("threading.py", "acquire"), user("with self._lock", "load"))
    too = thread("other", library("queue.py", "get"), user("answer = input", "answer"))
    assert "waits too" in show_held_lock(scene(threads=(waits, too))).summary


def test_a_generator_that_waits_for_a_queue_does_not_wait_for_the_fit_that_waits_for_it():
    waits = making(library("queue.py", "get"), user("image = load(path)"))
    assert (
        show_held_lock(scene(loop=fit(), threads=(main_in_fit(library(*EXECUTE)), waits))) is None
    )


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"cores": 0.9, "waits_in": ""}, id="works"),
        pytest.param({"waits_in": "read"}, id="reads"),
        pytest.param({"waits_in": "clock_nanosleep"}, id="sleeps for a while"),
    ],
)
def test_waiting_for_a_thread_is_no_held_lock_while_that_one(other):
    waits = main_in_fit(library("threading.py", "join"), user("pool = ", "<module>"))
    others = thread("other", user("answer = input", "fetch"), **other)
    assert show_held_lock(scene(threads=(waits, others))) is None


def test_a_lone_thread_in_a_lock_waits_for_no_other_thread_of_the_script():
    waits = main_in_fit(library("threading.py", "wait"), user("pool = ", "<module>"))
    assert show_held_lock(scene(threads=(waits,))) is None


def test_a_lock_inside_a_library_is_not_the_users():
    inner = (library("threading.py", "acquire"), library("requests/sessions.py", "get"))
    waits = main_in_fit(*inner, user("text = open", "<module>"))
    holds = thread("other", user("fetch()", "background"))
    assert show_held_lock(scene(threads=(waits, holds))) is None


def changed(name, **given):
    return dataclasses.replace(STUCK[name], **given)


def test_a_thread_that_comes_and_goes_at_a_lock_is_not_stuck():
    threads = STUCK["held-lock"].threads
    moving = dataclasses.replace(threads[1], share=0.5)
    assert show_held_lock(changed("held-lock", threads=(threads[0], moving, threads[2]))) is None

"""`fork-deadlock`: what was said while the run was quiet is what the report says."""

import dataclasses

import pytest

from quickfit.causes import catalogue
from quickfit.causes.stuck.fork_deadlock import CAUSE, detect, show_hung_workers
from quickfit.findings import FixClass, Symptom
from scenes import STUCK, child, fit, library, main_in_fit, scene, user
from silences import noted, quiet_run

from builders import run

fix = catalogue()["fork-deadlock"].fix


def test_fires_with_what_was_seen_and_where():
    found = detect(quiet_run(noted("fork-deadlock")))
    assert found is not None
    assert (found.summary, found.where.line) == ("fork-deadlock was seen", 6)
    assert [one.value for one in found.evidence] == [1.0, 31.0, 31.0]
    assert not found.is_past
    assert CAUSE.symptom == Symptom.STUCK


def test_a_run_that_went_on_is_told_of_in_the_past():
    found = detect(quiet_run(noted("fork-deadlock", moved_again_s=1050.0)))
    assert found.is_past
    assert found.evidence[-1].detail == "a step came later"


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(quiet_run(), id="a run that was looked at and moved"),
        pytest.param(quiet_run(noted("unguarded-spawn")), id="unguarded-spawn"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_the_fix_shows_code_that_has_workers_without_a_fork():
    signals = quiet_run(noted("fork-deadlock"))
    shown = fix(detect(signals), signals)
    assert shown.kind == FixClass.SHOW_ONLY
    assert "use_multiprocessing=False" in shown.example


def test_hung_workers_are_told_with_their_line_and_number():
    found = show_hung_workers(STUCK["fork-deadlock"])
    assert found.cause == "fork-deadlock"
    assert found.where.text.startswith("def load")
    assert "all 2 workers forked from the script wait for a lock" in found.summary
    assert found.evidence[0].detail == "process 7, 8"
    assert found.is_certain


def changed(name, **given):
    return dataclasses.replace(STUCK[name], **given)


def test_workers_that_cannot_be_looked_into_are_told_after_the_limit_only():
    found = show_hung_workers(changed("fork-deadlock", children=(child(7),)))
    assert "a worker forked from the script" in found.summary
    assert found.where.text.startswith("model.fit(")
    assert not found.is_certain


@pytest.mark.parametrize(
    "children",
    [
        pytest.param((child(7), child(8, cores=0.4)), id="one works"),
        pytest.param((child(7), child(8, waits_in="read")), id="one waits for work"),
        pytest.param((child(7, age_s=1.0),), id="it is being started"),
        pytest.param((child(7, is_fork=False),), id="it is another program"),
        pytest.param((), id="there is none"),
    ],
)
def test_workers_are_not_hung_when(children):
    assert show_hung_workers(changed("fork-deadlock", children=children)) is None


def test_workers_that_nobody_waits_for_may_sleep():
    threads = (main_in_fit(library("tensorflow/python/eager/execute.py")),)
    assert show_hung_workers(changed("fork-deadlock", threads=threads)) is None


def test_workers_are_not_hung_while_something_is_counted_on():
    assert show_hung_workers(changed("fork-deadlock", still_s=1.0)) is None


def test_a_worker_without_a_line_is_placed_at_the_input_it_works_for():
    from scenes import generator

    waiter = main_in_fit(library("python3.11/multiprocessing/pool.py", "get"))
    given = scene(loop=fit(), threads=(waiter,), children=(child(7),), inputs=(generator(),))
    assert show_hung_workers(given).where.text.startswith("def batches")
    assert user("def batches").line == show_hung_workers(given).where.line

"""`slow-storage`: what was said while the run was quiet is what the report says."""

import dataclasses

import pytest

from quickfit.causes import catalogue
from quickfit.causes.stuck.slow_storage import CAUSE, detect, show_slow_read
from quickfit.findings import FixClass, Symptom
from quickfit.liveness.scene import Machine
from scenes import STUCK, at, making, scene, thread, user
from silences import noted, quiet_run

from builders import run

fix = catalogue()["slow-storage"].fix


def test_fires_with_what_was_seen_and_where():
    found = detect(quiet_run(noted("slow-storage")))
    assert found is not None
    assert (found.summary, found.where.line) == ("slow-storage was seen", 6)
    assert [one.value for one in found.evidence] == [1.0, 31.0, 31.0]
    assert not found.is_past
    assert CAUSE.symptom == Symptom.STUCK


def test_a_run_that_went_on_is_told_of_in_the_past():
    found = detect(quiet_run(noted("slow-storage", moved_again_s=1050.0)))
    assert found.is_past
    assert found.evidence[-1].detail == "a step came later"


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(quiet_run(), id="a run that was looked at and moved"),
        pytest.param(quiet_run(noted("waits-for-stdin")), id="waits-for-stdin"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_the_fix_shows_code_that_brings_the_data_near():
    signals = quiet_run(noted("slow-storage"))
    shown = fix(detect(signals), signals)
    assert shown.kind == FixClass.SHOW_ONLY
    assert "unpack_archive" in shown.example


def test_a_read_that_does_not_come_back_is_told_with_its_file_and_line():
    found = show_slow_read(STUCK["slow-storage"])
    assert found.cause == "slow-storage"
    assert found.summary == "reading `/mnt/d.csv` does not come back"
    assert found.where == at("text = open")
    assert not found.is_certain


def reading(**given):
    known = {"waits_in": "read", "waits_for": "/mnt/d.csv"}
    return thread("main", user("text = open", "<module>"), **{**known, **given})


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"share": 0.5}, id="another read each time"),
        pytest.param({"cores": 0.5}, id="it works"),
        pytest.param({"waits_in": "futex"}, id="it waits for something else"),
        pytest.param({"waits_for": ""}, id="nobody knows for what"),
        pytest.param({"waits_for": "stdin"}, id="it waits for somebody to type"),
        pytest.param({"waits_for": "pipe:[123]"}, id="it waits for a process"),
        pytest.param({"waits_for": "socket:[123]"}, id="it waits for a server"),
        pytest.param({"waits_for": "/dev/input/mice"}, id="a device is no storage"),
    ],
)
def test_a_thread_does_not_wait_for_storage_when(given):
    assert show_slow_read(scene(threads=(reading(**given),))) is None


def test_a_thread_of_the_scripts_own_may_wait_for_a_file_that_others_write():
    waits = {"waits_in": "read", "waits_for": "/run/events"}
    other = thread("other", user("fetch()", "background"), **waits)
    assert show_slow_read(scene(threads=(other,))) is None


def test_a_full_queue_of_the_disk_is_told_with_the_line_of_the_input():
    given = dataclasses.replace(
        STUCK["slow-storage, everywhere"],
        threads=(making(user("image = load(path)"), cores=0.1, waits_in=""),),
    )
    found = show_slow_read(given)
    assert found.summary == "the disk delivers 200 kB a second, and everything waits for it"
    assert found.where == at("image = load(path)")


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"still_s": 5.0}, id="something was counted on lately"),
        pytest.param({"machine": Machine()}, id="the system does not tell"),
        pytest.param({"machine": Machine(disk_wait_threads=0.2)}, id="hardly anybody waits"),
        pytest.param(
            {"machine": Machine(disk_wait_threads=3.0, swapped_bytes_per_s=3e7)},
            id="it is swap that is waited for",
        ),
    ],
)
def test_the_disk_is_not_the_reason_when(given):
    assert show_slow_read(dataclasses.replace(STUCK["slow-storage, everywhere"], **given)) is None

"""Reasons outside the script: storage that does not deliver, memory that lies in swap."""

import dataclasses

import pytest

from quickfit.liveness.in_machine import storage, swap
from quickfit.liveness.scene import Machine
from scenes import MOVING, STUCK, TWINS, at, making, scene, thread, user


def reading(**given):
    known = {"waits_in": "read", "waits_for": "/mnt/d.csv"}
    return thread("main", user("text = open", "<module>"), **{**known, **given})


def test_a_read_that_does_not_come_back_is_told_with_its_file_and_line():
    found = storage(STUCK["slow-storage"])
    assert found.cause == "slow-storage"
    assert found.summary == "reading `/mnt/d.csv` does not come back"
    assert found.where == at("text = open")
    assert not found.is_certain


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
    assert storage(scene(threads=(reading(**given),))) is None


def test_a_thread_of_the_scripts_own_may_wait_for_a_file_that_others_write():
    waits = {"waits_in": "read", "waits_for": "/run/events"}
    other = thread("other", user("fetch()", "background"), **waits)
    assert storage(scene(threads=(other,))) is None


def test_a_full_queue_of_the_disk_is_told_with_the_line_of_the_input():
    given = dataclasses.replace(
        STUCK["slow-storage, everywhere"],
        threads=(making(user("image = load(path)"), cores=0.1, waits_in=""),),
    )
    found = storage(given)
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
    assert storage(dataclasses.replace(STUCK["slow-storage, everywhere"], **given)) is None


def test_memory_in_swap_is_told_with_what_goes_in_and_out():
    found = swap(STUCK["swap-thrash"])
    assert found.cause == "swap-thrash"
    assert "30 MB a second go in and out" in found.summary
    assert found.moves


@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(Machine(), id="the system does not tell"),
        pytest.param(Machine(major_faults_per_s=900.0), id="files that are read"),
        pytest.param(Machine(swapped_bytes_per_s=3e7), id="another program swaps"),
    ],
)
def test_swap_is_not_the_reason_with(machine):
    assert swap(dataclasses.replace(STUCK["swap-thrash"], machine=machine)) is None


@pytest.mark.parametrize(
    ("mechanism", "own"),
    [(storage, {"slow-storage", "slow-storage, everywhere"}), (swap, {"swap-thrash"})],
)
def test_a_mechanism_stays_silent_on_the_scenes_of_all_others(mechanism, own):
    told = {name for name, one in {**STUCK, **MOVING}.items() if mechanism(one) is not None}
    assert told == own
    assert not [name for name, one in TWINS.items() if mechanism(one) is not None]

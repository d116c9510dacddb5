"""`swap-thrash`: pages that move, and steps that wait for them; readings made up."""

import dataclasses

import pytest

from memory_runs import flat, memory_run, rising
from quickfit.causes import catalogue
from quickfit.causes.memory.swap_thrash import detect, show_swapping
from quickfit.errors import SignalMissing
from quickfit.liveness.scene import Machine
from scenes import STUCK

fix = catalogue()["swap-thrash"].fix

THRASH = {
    "system_swapped_bytes": rising(5e7),
    "major_faults": rising(400),
    "memory_pressure": flat(0.6),
    "swap_bytes": flat(3e9),
    "cpu_s": rising(0.3),
}


def test_fires_when_pages_move_and_steps_wait():
    finding = detect(memory_run(**THRASH))
    assert finding.cost_share == pytest.approx(0.6)
    assert len(finding.evidence) == 4
    assert fix(finding, memory_run()).kind == "show-only"


def test_a_full_container_thrashes_without_swap():
    facts = {"memory_limit_bytes": 10**9, "memory_bytes": 16 * 10**9}
    full = {**THRASH, "system_swapped_bytes": None, "cgroup_bytes": flat(9.8e8)}
    assert detect(memory_run(facts=facts, **full)) is not None
    assert detect(memory_run(**full)) is None


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"system_swapped_bytes": flat(5e9)}, id="it lies in swap and stays there"),
        pytest.param({"major_faults": rising(1)}, id="others swap, this run does not"),
        pytest.param({"memory_pressure": flat(0.02)}, id="nothing waits for it"),
        pytest.param({"cpu_s": rising(1.9)}, id="the cores are busy"),
    ],
)
def test_stays_silent_when(change):
    assert detect(memory_run(**{**THRASH, **change})) is None


def test_a_system_that_does_not_tell_is_not_checked():
    with pytest.raises(SignalMissing):
        detect(memory_run(**{**THRASH, "memory_pressure": None}))


def test_memory_in_swap_is_told_with_what_goes_in_and_out():
    found = show_swapping(STUCK["swap-thrash"])
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
    assert show_swapping(dataclasses.replace(STUCK["swap-thrash"], machine=machine)) is None

"""What the machine tells: counters that grow, cores that are there, other load."""

import os
import subprocess
import sys

import pytest

from quickfit.data.speed import machine
from quickfit.data.speed.machine import Reading, between


def test_the_cpu_time_of_children_that_have_ended_counts():
    before_s = machine.tree_cpu_s()
    code = "import time\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert machine.tree_cpu_s() - before_s >= 0.15  # it is counted in ticks


def test_memory_is_there():
    assert machine.memory_bytes() > 1_000_000


def test_other_load_is_what_is_left_when_our_own_is_taken_off(monkeypatch):
    monkeypatch.setattr(machine, "usable_cores", lambda: float(os.cpu_count()))
    found = between(Reading(0.0, 0.0, 10.0, 100), Reading(10.0, 5.0, 27.0, 300))
    assert found.other_cores == pytest.approx(1.2)
    assert found.read_bytes == 200


def test_cores_that_a_container_may_not_use_are_not_in_its_way(monkeypatch):
    monkeypatch.setattr(machine, "usable_cores", lambda: os.cpu_count() - 1.0)
    found = between(Reading(0.0, 0.0, 0.0, None), Reading(10.0, 0.0, 15.0, None))
    assert found.other_cores == pytest.approx(0.5)
    assert found.read_bytes is None


def test_a_moment_is_too_short_to_tell_the_load():
    assert between(Reading(0.0, 0.0, 0.0, 0), Reading(0.1, 0.1, 0.5, 0)).other_cores is None

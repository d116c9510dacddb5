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


def test_memory_and_cores_are_there():
    assert machine.memory_bytes() > 1_000_000
    assert machine.free_bytes() > 1_000_000
    assert 0 < machine.cores() <= os.cpu_count()


def test_other_load_is_what_is_left_when_our_own_is_taken_off(monkeypatch):
    monkeypatch.setattr(machine, "cores", lambda: float(os.cpu_count()))
    found = between(Reading(0.0, 0.0, 10.0, 100), Reading(10.0, 5.0, 27.0, 300))
    assert found.other_cores == pytest.approx(1.2)
    assert found.read_bytes == 200


def test_cores_that_a_container_may_not_use_are_not_in_its_way(monkeypatch):
    monkeypatch.setattr(machine, "cores", lambda: os.cpu_count() - 1.0)
    found = between(Reading(0.0, 0.0, 0.0, None), Reading(10.0, 0.0, 15.0, None))
    assert found.other_cores == pytest.approx(0.5)
    assert found.read_bytes is None


def test_a_moment_is_too_short_to_tell_the_load():
    assert between(Reading(0.0, 0.0, 0.0, 0), Reading(0.1, 0.1, 0.5, 0)).other_cores is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"cpu.max": "50000 100000"}, 0.5, id="version 2"),
        pytest.param({"cpu.max": "max 100000"}, None, id="no limit"),
        pytest.param(
            {"cpu/cpu.cfs_quota_us": "70000", "cpu/cpu.cfs_period_us": "100000"}, 0.7, id="1"
        ),
        pytest.param({"cpu/cpu.cfs_quota_us": "-1"}, None, id="version 1 without a limit"),
        pytest.param({}, None, id="none"),
    ],
)
def test_the_limit_of_a_container_counts(tmp_path, monkeypatch, files, expected):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    assert machine.cores() == (expected or machine._affinity())


def test_memory_that_a_container_may_still_use(tmp_path, monkeypatch):
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("700000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 100000\n")
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    assert machine.free_bytes() == 400_000

"""A container's limits count, whichever version of the interface tells them."""

import os

import psutil
import pytest

from quickfit.machine import capacity
from quickfit.machine.capacity import cores_in_groups, free_in_groups


def group(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def version_2(folder, limit, used, cached=0):
    stat = f"anon 5\ninactive_file {cached}\n"
    files = {"memory.max": f"{limit}\n", "memory.current": f"{used}\n", "memory.stat": stat}
    group(folder, files)


def test_the_tightest_group_around_the_process_counts(tmp_path):
    version_2(tmp_path / "pod", 1000, 400)
    version_2(tmp_path / "pod" / "container", 800, 300, cached=50)
    version_2(tmp_path / "pod" / "container" / "free", "max", 10)
    assert sorted(free_in_groups(tmp_path, "0::/pod/container/free\n")) == [550, 600]


def test_the_older_interface_is_read(tmp_path):
    files = {"memory.limit_in_bytes": "900", "memory.usage_in_bytes": "500"}
    group(tmp_path / "memory" / "job", {**files, "memory.stat": "total_inactive_file 100\n"})
    own = "4:cpu,cpuacct:/job\n3:memory:/job\n0::/\n"
    assert list(free_in_groups(tmp_path, own)) == [500]


def test_a_path_of_the_host_leads_to_the_group_that_is_mounted(tmp_path):
    version_2(tmp_path, 700, 100)
    assert list(free_in_groups(tmp_path, "0::/docker/abc\n")) == [600]


@pytest.mark.parametrize("own", ["", "nonsense\n", "0::/not/there\n"])
def test_no_group_is_no_limit(tmp_path, own):
    assert list(free_in_groups(tmp_path, own)) == []
    assert list(cores_in_groups(tmp_path, own)) == []


def test_more_used_than_allowed_is_nothing_free(tmp_path):
    version_2(tmp_path, 100, 300)
    assert list(free_in_groups(tmp_path, "0::/\n")) == [0]


def test_what_is_free_is_not_more_than_the_machine_has():
    assert 0 < capacity.free_memory_bytes() <= psutil.virtual_memory().total


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        pytest.param({"cpu.max": "max 100000\n"}, [], id="no limit"),
        pytest.param({"cpu.max": "150000 100000\n"}, [1.5], id="one and a half"),
        pytest.param({"cpu.max": ""}, [], id="empty"),
        pytest.param({"cpu.max": "many 100000\n"}, [], id="not a number"),
        pytest.param({"cpu.max": "100000 0\n"}, [], id="no period"),
    ],
)
def test_the_cores_of_a_container(tmp_path, files, cores):
    group(tmp_path, files)
    assert list(cores_in_groups(tmp_path, "0::/\n")) == cores


@pytest.mark.parametrize(("quota", "cores"), [("70000\n", [0.7]), ("-1\n", [])])
def test_the_cores_of_a_container_of_the_older_interface(tmp_path, quota, cores):
    group(tmp_path / "cpu", {"cpu.cfs_quota_us": quota, "cpu.cfs_period_us": "100000\n"})
    assert list(cores_in_groups(tmp_path, "4:cpu,cpuacct:/\n")) == cores


@pytest.mark.parametrize(
    ("limit", "usable", "whole"),
    [
        pytest.param("150000 100000", 1.5, 2, id="a part of a core"),
        pytest.param("20000 100000", 0.2, 1, id="less than one"),
        pytest.param("9900000 100000", 8.0, 8, id="more than there are"),
    ],
)
def test_no_more_cores_are_used_than_the_container_has(tmp_path, monkeypatch, limit, usable, whole):
    group(tmp_path, {"cpu.max": limit, "own": "0::/\n"})
    monkeypatch.setattr(capacity, "GROUPS", tmp_path)
    monkeypatch.setattr(capacity, "_OWN", tmp_path / "own")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    assert (capacity.usable_cores(), capacity.whole_cores()) == (usable, whole)


def test_a_system_without_affinity_counts_its_cores(tmp_path, monkeypatch):
    monkeypatch.setattr(capacity, "_OWN", tmp_path / "missing")
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert capacity.usable_cores() == 1.0

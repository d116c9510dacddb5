"""Counters of the process and the machine; what a system does not offer is None, not zero."""

import json
import os
import sys

import pytest

from quickfit.probes import cgroup, machine, storage, threads
from quickfit.probes.machine import MachineReader
from quickfit.recording.schema import columns

NAMES = [column.name for column in columns("machine")]
PAGE = os.sysconf("SC_PAGE_SIZE")


def read(state, times=1):
    reader = MachineReader(state)
    for _ in range(times):
        reader.read()
    return [dict(zip(NAMES, row, strict=True)) for row in state.writer.rows("machine")]


@pytest.mark.skipif(sys.platform != "linux", reason="the counters are those of Linux")
def test_a_real_machine_has_counters(state):
    (row,) = read(state)
    for name in ("cpu_s", "main_cpu_s", "rss_bytes", "system_busy_s", "threads", "minor_faults"):
        assert row[name] > 0, name
    assert row["rss_bytes"] > 5_000_000
    assert row["run_delay_s"] >= 0
    assert row["major_faults"] >= 0
    assert row["open_files"] >= 3
    assert row["python_blocks"] > 10_000
    assert row["collections"] >= 0
    assert 0 < row["file_bytes"] < row["rss_bytes"]
    assert row["data_bytes"] > 1_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="the counters are those of Linux")
def test_the_facts_of_the_machine_are_recorded_once(state):
    read(state, times=3)
    facts = [(key, json.loads(value)) for key, value in state.writer.rows("meta")]
    sizes = ["memory_limit_bytes", "memory_bytes", "swap_total_bytes"]
    assert [key for key, _ in facts] == [*sizes, "open_files_limit"]
    assert dict(facts)["memory_bytes"] > 10**8
    assert dict(facts)["open_files_limit"] > 10


def test_a_system_without_proc_gives_none(state, monkeypatch):
    def nothing(path):
        raise FileNotFoundError(path)

    for module in (machine, cgroup, threads, storage):
        monkeypatch.setattr(module, "text", lambda path: None)
    monkeypatch.setattr(machine, "names_in", nothing)
    monkeypatch.setattr(machine.os, "stat", nothing)
    (row,) = read(state)
    told = {name for name, value in row.items() if value is not None}
    assert told == {"at_s", "cpu_s", "python_blocks", "collections"}


def test_the_files_of_the_system_are_understood():
    stat = "7 (python (x) 1) S 1 7 7 0 -1 4194304 101 102 3 104 5 6 7 8 20 0 17 0 114 3133440 412 9"
    assert machine.process_counters(stat) == {
        "minor_faults": 101,
        "major_faults": 3,
        "threads": 17,
        "rss_bytes": 412 * PAGE,
    }
    busy = 100 + 20 + 30 + 6 + 7 + 8
    told = "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 1 1 1\n"
    assert machine.system_busy_s(told) == pytest.approx(busy / os.sysconf("SC_CLK_TCK"))
    told = "some avg10=12.50 avg60=1.00 avg300=0.10 total=99\nfull avg10=0.00\n"
    assert machine.pressure(told) == 0.125
    assert machine.thread_times_s("3000000000 250000000 77\n") == (3.0, 0.25)
    assert machine.status_bytes("Name:\tpython\nVmSwap:\t      12 kB\n", "VmSwap") == 12288
    assert machine.swapped_bytes("pgfault 9\npswpin 3\npswpout 4\n") == 7 * PAGE


@pytest.mark.parametrize("told", [None, "", "nonsense\n"])
def test_a_file_that_says_nothing_gives_none(told):
    assert machine.pressure(told) is None
    assert machine.status_bytes(told, "VmSwap") is None
    assert machine.swapped_bytes(told) is None
    assert machine.thread_times_s(told) == (None, None)


def test_threads_are_read_every_fourth_time(state, monkeypatch):
    reads = []

    def groups(self):
        reads.append(True)
        return [("main", 1, 0.5, 2.0 * len(reads)), ("tf.data", 3, 0.5, 1.0)]

    monkeypatch.setattr(threads.ThreadGroups, "read", groups)
    rows = read(state, times=6)
    assert [row["run_delay_s"] for row in rows] == [3.0, 3.0, 3.0, 3.0, 5.0, 5.0]
    assert [row[0] for row in state.writer.rows("thread_groups")] == ["main", "tf.data"] * 2


@pytest.mark.parametrize(("is_counted", "expected"), [(True, 0.5), (False, None)])
def test_disk_wait_is_none_where_the_kernel_does_not_count(
    state, monkeypatch, is_counted, expected
):
    reader = MachineReader(state)
    monkeypatch.setattr(threads.ThreadGroups, "read", lambda self: [])
    reader._groups.counts_disk = is_counted
    reader._groups.disk_ticks = os.sysconf("SC_CLK_TCK") // 2
    reader.read()
    (row,) = state.writer.rows("machine")
    assert dict(zip(NAMES, row, strict=True))["disk_wait_s"] == expected


def test_a_large_heap_is_counted_more_rarely(state, monkeypatch):
    now_s, cpu_s, counted = [100.0], [0.0], []

    def count():
        cpu_s[0] += 0.001
        counted.append(now_s[0])
        return len(counted)

    monkeypatch.setattr(machine, "now", lambda: now_s[0])
    monkeypatch.setattr(machine.time, "thread_time", lambda: cpu_s[0])
    monkeypatch.setattr(machine.sys, "getallocatedblocks", count)
    reader = MachineReader(state)
    told = []
    for _ in range(40):
        told.append(reader._python_blocks())
        now_s[0] += 0.5
    # A millisecond at 0.02 % of a core: every five seconds.
    assert counted == [100.0, 105.0, 110.0, 115.0]
    assert told[:11] == [1] * 10 + [2]


def test_open_files_are_counted_where_the_folder_has_no_size(monkeypatch):
    monkeypatch.setattr(machine.os, "stat", lambda path: os.stat_result((0,) * 10))
    monkeypatch.setattr(machine, "names_in", lambda path: ["0", "1", "2"])
    assert machine.open_files() == 3

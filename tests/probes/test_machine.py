"""Counters of the process and the machine; what a system does not offer is None, not zero."""

import builtins
import os
import sys

import pytest

from quickfit.probes import machine
from quickfit.probes.machine import MachineReader
from quickfit.recording.schema import columns

NAMES = [column.name for column in columns("machine")]


def read(state, times=1):
    reader = MachineReader(state)
    for _ in range(times):
        reader.read()
    return [dict(zip(NAMES, row, strict=True)) for row in state.writer.rows("machine")]


@pytest.mark.skipif(sys.platform != "linux", reason="the counters are those of Linux")
def test_a_real_machine_has_counters(state):
    (row,) = read(state)
    for name in ("cpu_s", "main_cpu_s", "rss_bytes", "system_busy_s", "threads"):
        assert row[name] > 0, name
    assert row["rss_bytes"] > 5_000_000
    assert row["run_delay_s"] >= 0
    assert row["major_faults"] >= 0


def test_a_system_without_proc_gives_none(state, monkeypatch):
    real_open = builtins.open

    def no_proc(path, *args, **kwargs):
        if str(path).startswith("/proc"):
            raise FileNotFoundError(path)
        return real_open(path, *args, **kwargs)

    def no_listing(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(builtins, "open", no_proc)
    monkeypatch.setattr(machine.os, "listdir", no_listing)
    monkeypatch.setitem(sys.modules, "resource", None)
    (row,) = read(state)
    unknown = {name for name, value in row.items() if value is None}
    assert unknown == set(NAMES) - {"at_s", "cpu_s"}


def test_a_file_that_may_be_opened_but_not_read_gives_none(monkeypatch):
    class Refuses:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def read(self):
            raise PermissionError(13, "no")

    monkeypatch.setattr(builtins, "open", lambda *args, **kwargs: Refuses())
    assert machine._read_bytes() is None
    assert machine._pressure() is None


PROC = {
    "/proc/self/statm": "100 25 3 4 0 5 0\n",
    "/proc/self/io": "rchar: 9\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 1\n",
    "/proc/stat": "cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1 1 1 1\n",
    "/proc/pressure/cpu": "some avg10=12.50 avg60=1.00 avg300=0.10 total=99\nfull avg10=0.00\n",
    "/proc/self/task/7/schedstat": "3000000000 250000000 77\n",
}


def test_the_files_of_the_system_are_understood(monkeypatch):
    monkeypatch.setattr(machine, "_text", PROC.get)
    monkeypatch.setattr(machine.os, "listdir", lambda path: ["7", "8"])
    assert machine._rss_bytes() == 25 * os.sysconf("SC_PAGE_SIZE")
    assert machine._read_bytes() == 4096
    busy = 100 + 20 + 30 + 6 + 7 + 8
    assert machine._system_busy_s() == pytest.approx(busy / os.sysconf("SC_CLK_TCK"))
    assert machine._pressure() == 0.125
    assert (machine._thread_cpu_s(7), machine._run_delay_s(7)) == (3.0, 0.25)
    # Thread 8 has ended since the folder was listed.
    assert machine._all_run_delay_s() == 0.25
    assert machine._thread_count() == 2


def test_the_run_delay_of_all_threads_is_read_every_fourth_time(state, monkeypatch):
    reads = []
    monkeypatch.setattr(machine, "_all_run_delay_s", lambda: reads.append(True) or len(reads))
    rows = read(state, times=6)
    assert [row["run_delay_s"] for row in rows] == [1, 1, 1, 1, 2, 2]

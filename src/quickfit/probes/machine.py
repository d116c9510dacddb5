"""Reads what the process and the machine do: CPU, memory, waiting for a core, disk, neighbours."""

from __future__ import annotations

import json
import os
import sys
import threading
import time

from quickfit.probes import threads
from quickfit.probes._descriptors import names_in
from quickfit.probes._state import State, now
from quickfit.probes._system_files import number, numbers, text
from quickfit.probes.cgroup import Limits
from quickfit.probes.clock import Clock
from quickfit.probes.collector import Collector
from quickfit.probes.storage import DataFolders
from quickfit.standard import standard

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
# Each thread costs 5 µs to read, and TensorFlow has dozens.
_THREADS_EVERY = 4
# Counting Python's memory blocks walks the heap: 60 µs for 1 million, 0.8 ms for 16 million.
_MAX_BLOCKS_SHARE = 0.0002


class MachineReader:
    """Writes one row of `machine` per call; what a system does not offer is None, not zero."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.calls = 0
        self.run_delay_s: float | None = None
        self.disk_wait_s: float | None = None
        # Memory in use without pages of files, at the last reading.
        self.own_bytes: int | None = None
        self._limits = Limits()
        self._collector = Collector()
        self._clock = Clock()
        self._groups = threads.ThreadGroups()
        self._folders = DataFolders()
        self._blocks: int | None = None
        self._blocks_due_s = 0.0

    def read(self) -> None:
        """Record the counters as they are now."""
        if self.calls == 0:
            self._write_facts()
        if self.calls % _THREADS_EVERY == 0:
            self._read_threads()
        self.calls += 1
        self.state.writer.add("machine", self._row())
        self._folders.look(self.state)

    def _row(self) -> tuple[float | int | None, ...]:
        times = os.times()
        main = thread_times_s(
            text(f"/proc/self/task/{threading.main_thread().native_id}/schedstat")
        )
        own = process_counters(text("/proc/self/stat"))
        io = numbers(text("/proc/self/io"))
        status = text("/proc/self/status")
        files = status_bytes(status, "RssFile")
        rss = own["rss_bytes"]
        self.own_bytes = rss - (files or 0) if rss is not None else None
        return (
            now(),
            times.user + times.system,
            main[0],
            rss,
            self.run_delay_s,
            main[1],
            system_busy_s(text("/proc/stat")),
            io.get("read_bytes"),
            own["major_faults"],
            own["threads"],
            pressure(text("/proc/pressure/cpu")),
            own["minor_faults"],
            io.get("rchar"),
            self.disk_wait_s,
            status_bytes(status, "VmSwap"),
            swapped_bytes(text("/proc/vmstat")),
            pressure(text("/proc/pressure/io")),
            pressure(text("/proc/pressure/memory")),
            open_files(),
            self._limits.throttled_s(),
            self._limits.used_bytes(),
            self._python_blocks(),
            # A script that lists `gc.callbacks` does so before it trains.
            *self._collector.read(may_look=bool(self.state.loops)),
            files,
            status_bytes(status, "VmData"),
            self._clock.hz(),
        )

    def _read_threads(self) -> None:
        groups = self._groups.read()
        if groups is None:
            return
        threads.write(self.state, groups)
        self.run_delay_s = sum(group[3] for group in groups)
        if self._groups.counts_disk:
            self.disk_wait_s = self._groups.disk_ticks * _TICK_S

    def _python_blocks(self) -> int | None:
        began_s = now()
        if began_s >= self._blocks_due_s and hasattr(sys, "getallocatedblocks"):
            cpu_s = time.thread_time()
            self._blocks = sys.getallocatedblocks()
            self._blocks_due_s = began_s + (time.thread_time() - cpu_s) / _MAX_BLOCKS_SHARE
        return self._blocks

    def _write_facts(self) -> None:
        memory = numbers(text("/proc/meminfo"))
        facts = {
            "memory_limit_bytes": self._limits.limit_bytes,
            "memory_bytes": _kibibytes(memory.get("MemTotal")),
            "swap_total_bytes": _kibibytes(memory.get("SwapTotal")),
            "open_files_limit": open_files_limit(),
        }
        for name, value in facts.items():
            self.state.writer.add("meta", (name, json.dumps(value)))


def thread_times_s(schedstat: str | None) -> tuple[float | None, float | None]:
    """Return a thread's CPU time and the time it was ready but had no core."""
    told = (schedstat or "").split()
    if len(told) < 2:
        return None, None
    return int(told[0]) / 1e9, int(told[1]) / 1e9


def process_counters(stat: str | None) -> dict[str, int | None]:
    """Return page faults, threads and memory from `/proc/self/stat`."""
    if not stat:
        return dict.fromkeys(("minor_faults", "major_faults", "threads", "rss_bytes"))
    _, fields = threads.split_stat(stat)
    return {
        "minor_faults": int(fields[7]),
        "major_faults": int(fields[9]),
        "threads": int(fields[17]),
        "rss_bytes": int(fields[21]) * _PAGE_BYTES,
    }


def system_busy_s(stat: str | None) -> float | None:
    """Return the CPU time of everything on the machine, waiting for the disk not counted."""
    if not stat:
        return None
    fields = [int(field) for field in stat.split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) * _TICK_S


def pressure(told: str | None) -> float | None:
    """Return the share of the last ten seconds in which some task had to wait."""
    if not told or "avg10=" not in told:
        return None
    return float(told.split("avg10=", 1)[1].split()[0]) / 100


def status_bytes(status: str | None, name: str) -> int | None:
    """Return a size of `/proc/self/status`.

    `VmSwap` lies in swap, `RssFile` are pages of files, `VmData` was asked for, used or not.
    """
    return _kibibytes(number(status, name))


def swapped_bytes(vmstat: str | None) -> int | None:
    """Return what the machine has moved to and from swap since it started."""
    read, written = number(vmstat, "pswpin"), number(vmstat, "pswpout")
    return None if read is None or written is None else (read + written) * _PAGE_BYTES


def open_files() -> int | None:
    """Return how many files, sockets and pipes the process has open."""
    try:
        # Linux since 6.2 says it at once; before, the folder has no size.
        return os.stat("/proc/self/fd").st_size or len(names_in("/proc/self/fd"))
    except OSError:
        return None


def open_files_limit() -> int | None:
    """Return how many files the process may have open."""
    try:
        resource = standard("resource")
    except ImportError:  # not on Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if limit == resource.RLIM_INFINITY else int(limit)


def _kibibytes(told: int | None) -> int | None:
    return None if told is None else told * 1024

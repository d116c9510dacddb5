"""Reads what the process and the machine do: CPU, memory, waiting for a core, disk, neighbours."""

from __future__ import annotations

import os
import threading

from quickfit.probes._state import State, now

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
# All threads' run-queue delay costs 10 µs per thread; TensorFlow has dozens.
_ALL_THREADS_EVERY = 4


class MachineReader:
    """Writes one row of `machine` per call; what a system does not offer is None, not zero."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.calls = 0
        self.run_delay_s: float | None = None

    def read(self) -> None:
        """Record the counters as they are now."""
        if self.calls % _ALL_THREADS_EVERY == 0:
            self.run_delay_s = _all_run_delay_s()
        self.calls += 1
        times = os.times()
        main = threading.main_thread().native_id
        row = (
            now(),
            times.user + times.system,
            _thread_cpu_s(main),
            _rss_bytes(),
            self.run_delay_s,
            _run_delay_s(main),
            _system_busy_s(),
            _read_bytes(),
            _major_faults(),
            _thread_count(),
            _pressure(),
        )
        self.state.writer.add("machine", row)


def _text(path: str) -> str | None:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return None


def _rss_bytes() -> int | None:
    text = _text("/proc/self/statm")
    return int(text.split()[1]) * _PAGE_BYTES if text else None


def _run_delay_s(thread: int | None) -> float | None:
    text = _text(f"/proc/self/task/{thread}/schedstat")
    return int(text.split()[1]) / 1e9 if text else None


def _thread_cpu_s(thread: int | None) -> float | None:
    text = _text(f"/proc/self/task/{thread}/schedstat")
    return int(text.split()[0]) / 1e9 if text else None


def _all_run_delay_s() -> float | None:
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return None
    delays = [_run_delay_s(int(thread)) for thread in threads]
    return sum(delay for delay in delays if delay is not None)


def _system_busy_s() -> float | None:
    text = _text("/proc/stat")
    if not text:
        return None
    fields = [int(field) for field in text.split("\n", 1)[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) * _TICK_S


def _read_bytes() -> int | None:
    text = _text("/proc/self/io")
    if not text:
        return None
    for line in text.splitlines():
        if line.startswith("read_bytes:"):
            return int(line.split()[1])
    return None


def _major_faults() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_majflt


def _thread_count() -> int | None:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return None


def _pressure() -> float | None:
    """Return the share of the last ten seconds in which some task waited for a core."""
    text = _text("/proc/pressure/cpu")
    return float(text.split("avg10=", 1)[1].split()[0]) / 100 if text else None

"""Reads the clock speed of the processor, where the system shows it: a hot one runs slower."""

from __future__ import annotations

import os

from quickfit.probes._system_files import text

_PATH = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq"
# Each core costs some ten microseconds to ask; heat slows all of them.
MAX_CORES = 4
# Heat comes over seconds; every fourth reading of the counters is often enough.
EVERY = 4


class Clock:
    """Asks a few of the cores that the process may use for their speed."""

    def __init__(self) -> None:
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        chosen = cores[:: max(len(cores) // MAX_CORES, 1)][:MAX_CORES]
        self._files = [_PATH.format(core) for core in chosen if text(_PATH.format(core))]
        self._calls = 0
        self._hz: float | None = None

    def hz(self) -> float | None:
        """Return the speed of the fastest, as of late: one without work is slow to save power."""
        if self._files and self._calls % EVERY == 0:
            told = [(text(file) or "").strip() for file in self._files]
            speeds = [int(each) * 1000.0 for each in told if each.isdecimal()]
            self._hz = max(speeds, default=None)
        self._calls += 1
        return self._hz

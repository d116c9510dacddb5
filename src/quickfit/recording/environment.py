"""Facts about a process and its machine that are recorded once."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import quickfit


def process_facts(role: str) -> dict[str, Any]:
    """Return what `meta` says of this process."""
    return {
        "role": role,
        "pid": os.getpid(),
        "parent_pid": os.getppid(),
        "quickfit_version": quickfit.__version__,
        "python_version": sys.version.split()[0],
        "platform": sys.platform,
        "argv": list(getattr(sys, "orig_argv", [])),
        "cwd": _cwd(),
        "started_s": time.perf_counter(),
        "started_at": time.time(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "tf_log_level": os.environ.get("TF_CPP_MIN_LOG_LEVEL"),
    }


def usable_cores() -> float:
    """Return how many cores this process may use: affinity and the container's quota."""
    cores = float(os.cpu_count() or 1)
    if hasattr(os, "sched_getaffinity"):
        cores = float(len(os.sched_getaffinity(0)))
    return min(cores, _quota() or cores)


def _quota() -> float | None:
    """Return the container's CPU limit in cores, where there is one (cgroup version 2 or 1)."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            limit, period = file.read().split()
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        pass
    try:
        with open("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") as quota:
            limit_us = int(quota.read())
        with open("/sys/fs/cgroup/cpu/cpu.cfs_period_us") as period_file:
            period_us = int(period_file.read())
        return limit_us / period_us if limit_us > 0 else None
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None

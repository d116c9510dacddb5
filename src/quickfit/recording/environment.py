"""Facts about a process and its machine that are recorded once."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import quickfit
from quickfit.machine import usable_cores


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


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None

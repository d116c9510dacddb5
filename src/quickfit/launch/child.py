"""The first thing that runs in the script's process, before the script.

The script itself is run by Python, not by us: its argv, `__main__`, `sys.path` and traceback
are Python's own. Only the probes are added, through `inject/sitecustomize.py`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

RUN_VARIABLE = "QUICKFIT_RUN"
ROLE_VARIABLE = "QUICKFIT_ROLE"
STOP_VARIABLE = "QUICKFIT_STOP"
MEMORY_VARIABLE = "QUICKFIT_MEMORY"


def boot(role: str) -> None:
    """Start recording in this process.

    Args:
        role: `main` for the script itself, `descendant` for a process it started.
    """
    folder = Path(os.environ[RUN_VARIABLE])
    if not folder.is_dir():
        return  # a process that outlived its run, whose recording was removed
    from quickfit.probes import session

    session.start(folder, role=role, stop=asked_stop() if role == "main" else None)
    if os.environ.get(MEMORY_VARIABLE):
        session.follow_allocations()


def asked_stop() -> dict[str, Any] | None:  # numbers by name, as JSON carries them
    """Return when the run was asked to stop early, or None."""
    text = os.environ.get(STOP_VARIABLE)
    if not text:
        return None
    stop = json.loads(text)
    return stop if isinstance(stop, dict) else None

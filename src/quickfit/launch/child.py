"""The first thing that runs in the script's process, before the script.

The script itself is run by Python, not by us: its argv, `__main__`, `sys.path` and traceback
are Python's own. Only the probes are added, through `inject/sitecustomize.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from quickfit import terminal
from quickfit.lab.sandbox.spec import EXIT_NOT_BEGUN, VARIABLE

RUN_VARIABLE = "QUICKFIT_RUN"
ROLE_VARIABLE = "QUICKFIT_ROLE"
STOP_VARIABLE = "QUICKFIT_STOP"
MEMORY_VARIABLE = "QUICKFIT_MEMORY"
TURBO_VARIABLE = "QUICKFIT_TURBO"


def boot(role: str) -> None:
    """Start recording in this process.

    Args:
        role: `main` for the script itself, `descendant` for a process it started.
    """
    patches = _begin_trial(role)
    folder = Path(os.environ[RUN_VARIABLE])
    if not folder.is_dir():
        return  # a process that outlived its run, whose recording was removed
    from quickfit.probes import session

    is_turbo = role == "main" and bool(os.environ.get(TURBO_VARIABLE))
    if is_turbo:
        from quickfit import turbo

        patches = turbo.turbo_patches()
    stop = asked_stop() if role == "main" else None
    session.start(folder, role=role, stop=stop, patches=patches)
    if is_turbo:
        turbo.start()
    if os.environ.get(MEMORY_VARIABLE):
        session.follow_allocations()


def _begin_trial(role: str) -> dict[str, list[Callable[[ModuleType], None]]]:
    """Make this process a trial where it is one; a script is never run unguarded as one."""
    path = os.environ.get(VARIABLE)
    if not path:
        return {}
    try:
        from quickfit.lab.sandbox import setup

        return setup.prepare(path, role)
    except BaseException as error:  # noqa: BLE001 - anything: nothing may run unguarded
        terminal.say(f"the trial could not be begun: {error!r}")
        os._exit(EXIT_NOT_BEGUN)


def asked_stop() -> dict[str, Any] | None:  # numbers by name, as JSON carries them
    """Return when the run was asked to stop early, or None."""
    text = os.environ.get(STOP_VARIABLE)
    if not text:
        return None
    stop = json.loads(text)
    return stop if isinstance(stop, dict) else None

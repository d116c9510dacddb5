"""Starts the command that a user wants to be run when something is found."""

from __future__ import annotations

import os
import subprocess

from quickfit.launch.status import say

# Kept: Python warns of a process that is forgotten while it runs.
_STARTED: list[subprocess.Popen[bytes]] = []


def run_command(command: str, told: dict[str, str]) -> None:
    """Start a command in a shell; how it ends is nobody's problem.

    Args:
        command: as the user wrote it.
        told: what happened; `CAUSE` is told to the command as `QUICKFIT_CAUSE`.
    """
    known = {f"QUICKFIT_{name}": value.replace("\0", " ") for name, value in told.items()}
    try:
        started = subprocess.Popen(
            command,
            shell=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **known},
            start_new_session=True,
        )
        _STARTED.append(started)
    except (OSError, ValueError) as error:
        say(f"cannot run `{command}` ({error})")

"""`quickfit attach PID`: what a process started without quickfit does, and why it waits."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quickfit import terminal
from quickfit.cli._stdout import answer_text
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.liveness.attach import Target

# A line longer than this is cut; a command line may have thousands of characters.
MAX_WIDTH = 160


def attach(
    pid: Annotated[
        str, typer.Argument(metavar="PID", help="The number of the process that trains.")
    ],
    duration: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="How long to look. [default: 3 to 6s]"),
    ] = None,
) -> None:
    """Say what a running Python process does, and why it does not move.

    \b
        quickfit attach 4711
        quickfit attach 4711 --for 10s

    It is only looked at: paused for some milliseconds at a time, never changed and never ended.
    """
    from quickfit.causes import stuck_mechanisms
    from quickfit.cli.run import time_of
    from quickfit.liveness import attach as outside
    from quickfit.liveness import pyspy
    from quickfit.liveness.attached_scene import scene_of
    from quickfit.liveness.attached_text import lines
    from quickfit.report.text import one_line

    window_s = time_of("--for", duration) if duration is not None else None
    target = outside.target_of(asked(pid))
    program = pyspy.find()
    try:
        looks = outside.watch(target, program, window_s=window_s)
    except pyspy.Failed as error:
        raise explained(target, str(error)) from error
    scene = scene_of(target, looks, program=program)
    said = lines(target, looks, scene, stuck_mechanisms())
    answer_text("\n".join(one_line(line, MAX_WIDTH) for line in said) + "\n")


def asked(text: str) -> int:
    """Return the process to look at: the one asked for, or the script that it watches.

    Raises:
        UsageError: there is no such process, or it cannot be looked at.
    """
    if not re.fullmatch(r"[0-9]{1,10}", text.strip()) or int(text) == 0:
        raise UsageError(
            f"attach {text}: this is not the number of a process.\n"
            "Find it:\n    ps -eo pid,etime,args | grep python"
        )
    pid = int(text)
    state = state_of(pid)
    if state is None:
        raise UsageError(
            f"attach {pid}: there is no such process.\n"
            "Find the one you mean:\n    ps -eo pid,etime,args | grep python"
        )
    if state == "Z":
        raise UsageError(
            f"attach {pid}: the process has ended already; the one that started it has not"
            " noticed.\nFind the one you mean:\n    ps -eo pid,etime,args | grep python"
        )
    return _script_of(pid)


def state_of(pid: int) -> str | None:
    """Return the state of a process as Linux calls it; None where there is no such process."""
    from quickfit.liveness.system import split_stat

    if not Path("/proc/self").exists():
        import psutil

        return "?" if psutil.pid_exists(pid) else None
    try:
        return split_stat(Path(f"/proc/{pid}/stat").read_text(errors="replace"))[1][0]
    except OSError:
        return None


def _script_of(pid: int) -> int:
    """Return the script's process where the one asked for is quickfit itself, which watches it."""
    from quickfit.liveness import attach as outside
    from quickfit.liveness import system

    if not is_quickfit(outside.target_of(pid).command):
        return pid
    looked = system.look(pid)
    below = [one.pid for one in looked.below if one.parent == pid] if looked is not None else []
    if not below:
        raise UsageError(
            f"attach {pid}: this is quickfit itself, and it has no script running.\n"
            "Its report, if it has recorded one:\n    quickfit report"
        )
    terminal.say(f"{pid} is quickfit itself; this is its script")
    return below[0]


def is_quickfit(command: tuple[str, ...]) -> bool:
    """Tell whether a command line is one that runs and watches a script."""
    words = [os.path.basename(word) for word in command[:3]]
    is_ours = "quickfit" in words[:2] or words[1:3] == ["-m", "quickfit"]
    return is_ours and not any(word.endswith("child.py") for word in words)


def explained(target: Target, told: str) -> UsageError:
    """Return the error that says why a process cannot be looked at, and what to do."""
    pid = target.pid
    if state_of(pid) in (None, "Z"):
        return UsageError(
            f"attach {pid}: the process ended while it was looked at.\n"
            "To watch a run from its start:\n    quickfit run SCRIPT"
        )
    if "ermission" in told or "not permitted" in told:
        return UsageError(
            f"attach {pid}: this process may not be looked at ({told.splitlines()[0]:.80}).\n"
            f'Ask as its owner, or as root:\n    sudo env "PATH=$PATH" quickfit attach {pid}\n'
            "or let every process look at those of its user, until the next boot:\n"
            "    sudo sysctl kernel.yama.ptrace_scope=0\n"
            "or, in a container, start it with:\n    docker run --cap-add SYS_PTRACE …"
        )
    if not _runs_python(pid):
        return UsageError(
            f"attach {pid}: this process is not Python (`{' '.join(target.command)[:60]}`).\n"
            "Find the one that trains:\n    ps -eo pid,etime,args | grep python"
        )
    said = " ".join(told.split())
    return UsageError(
        f"attach {pid}: py-spy cannot read this Python ({said:.120}).\n"
        "A newer py-spy may know it:\n"
        f"    {sys.executable} -m pip install --upgrade py-spy\n"
        "or watch the run from its start:\n    quickfit run SCRIPT"
    )


def _runs_python(pid: int) -> bool:
    try:
        if "python" in os.path.basename(os.readlink(f"/proc/{pid}/exe")).lower():
            return True
        return "libpython" in Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return False

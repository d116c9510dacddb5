"""What the system knows of a process and those below it: CPU, state, the call each sleeps in.

Linux only; elsewhere nothing is known. Processes end while they are read, and some may not be
looked at: what cannot be read is left out.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01


def _numbered(text: str) -> dict[int, str]:
    words = text.split()
    return dict(zip(map(int, words[::2]), words[1::2], strict=True))


# System calls by number, on x86-64 and on 64-bit ARM.
_X86 = _numbered(
    "0 read 1 write 2 open 7 poll 17 pread64 19 readv 23 select 35 nanosleep 42 connect"
    " 43 accept 45 recvfrom 47 recvmsg 61 wait4 72 fcntl 73 flock 202 futex 230 clock_nanosleep"
    " 232 epoll_wait 247 waitid 257 openat 270 pselect6 271 ppoll 281 epoll_pwait 295 preadv"
)
_ARM = _numbered(
    "22 epoll_pwait 25 fcntl 32 flock 56 openat 63 read 64 write 65 readv 67 pread64 69 preadv"
    " 72 pselect6 73 ppoll 95 waitid 98 futex 101 nanosleep 115 clock_nanosleep 202 accept"
    " 203 connect 207 recvfrom 212 recvmsg 260 wait4"
)
_CALLS = _ARM if platform.machine() in ("aarch64", "arm64") else _X86
# Calls whose first argument is a file.
_ABOUT_A_FILE = frozenset(
    ("read", "pread64", "readv", "preadv", "write", "recvfrom", "recvmsg", "fcntl", "flock")
)
# Calls that wait for any of several files; a prompt waits so for the keyboard.
_SEVERAL = ("poll", "ppoll", "select", "pselect6")
STDIN = "stdin"


@dataclass(frozen=True)
class TaskLook:
    """One thread: its CPU time so far, its state, what it sleeps in, how often it was woken."""

    cpu_s: float
    state: str
    waits_in: str = ""
    waits_for: str = ""
    wakes: int | None = None


@dataclass(frozen=True)
class ProcessLook:
    """One process at one moment.

    Args:
        began_s: when it was started, in seconds since the machine was.
        is_fork: it runs the very command line of its parent.
    """

    pid: int
    parent: int
    name: str
    began_s: float
    cpu_s: float
    state: str
    is_fork: bool = False
    tasks: dict[int, TaskLook] = field(default_factory=dict)

    @property
    def waits_in(self) -> str:
        """What its main thread sleeps in."""
        main = self.tasks.get(self.pid)
        return main.waits_in if main is not None else ""


@dataclass(frozen=True)
class Look:
    """A process and those below it at one moment."""

    at_s: float
    process: ProcessLook
    below: tuple[ProcessLook, ...] = ()


def look(pid: int, *, clock: Callable[[], float] = time.monotonic) -> Look | None:
    """Look at a process and those below it; None where it cannot be looked at."""
    process = _process(pid, None)
    if process is None:
        return None
    return Look(clock(), process, tuple(_below(process, depth=4)))


def look_inside(pid: int, *, clock: Callable[[], float] = time.monotonic) -> Look | None:
    """Look at a process, and number it, its threads and those below as they number themselves.

    A trial has processes of its own, numbered from 1, and so they are recorded.
    """
    found = look(pid, clock=clock)
    if found is None or number_inside(pid) == pid:
        return found
    below = tuple(_renumbered(process) for process in found.below)
    return Look(found.at_s, _renumbered(found.process), below)


def _renumbered(process: ProcessLook) -> ProcessLook:
    pid = process.pid
    tasks = {number_inside(pid, number): task for number, task in process.tasks.items()}
    return replace(process, pid=number_inside(pid), tasks=tasks)


def number_inside(pid: int, task: int | None = None) -> int:
    """Return the number that a process, or a thread of it, has for itself; the same elsewhere."""
    number = pid if task is None else task
    status = _text(f"/proc/{pid}/task/{number}/status") or ""
    found = re.search(r"^NSpid:.*\s(\d+)$", status, re.MULTILINE)
    return int(found[1]) if found else number


def uptime_s() -> float:
    """Return the seconds since the machine was started."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else 0.0


def _below(process: ProcessLook, depth: int) -> list[ProcessLook]:
    found = []
    for task in process.tasks:
        told = _text(f"/proc/{process.pid}/task/{task}/children") or ""
        for number in told.split():
            child = _process(int(number), process)
            if child is not None:
                found.append(child)
                found += _below(child, depth - 1) if depth else []
    return found


def _process(pid: int, parent: ProcessLook | None) -> ProcessLook | None:
    stat = _text(f"/proc/{pid}/stat")
    if not stat:
        return None
    name, fields = split_stat(stat)
    command = _text(f"/proc/{pid}/cmdline")
    is_fork = parent is not None and command == _text(f"/proc/{parent.pid}/cmdline")
    cpu_s = (int(fields[11]) + int(fields[12])) * _TICK_S
    began_s = int(fields[19]) * _TICK_S
    words = (command or "").split("\0")
    shown = " ".join(word for word in words if word)[:80] or name
    return ProcessLook(
        *(pid, int(fields[1]), shown, began_s, cpu_s, fields[0], is_fork),
        # Of others, the main thread tells enough: workers may have dozens of threads each.
        tasks=_tasks(pid) if parent is None else _main_task(pid),
    )


def _main_task(pid: int) -> dict[int, TaskLook]:
    task = _task(pid, pid)
    return {pid: task} if task is not None else {}


def _tasks(pid: int) -> dict[int, TaskLook]:
    try:
        numbers = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return {}
    found = {number: _task(pid, number) for number in numbers}
    return {number: task for number, task in found.items() if task is not None}


def _task(pid: int, number: int) -> TaskLook | None:
    folder = f"/proc/{pid}/task/{number}"
    stat = _text(f"{folder}/stat")
    if not stat:
        return None
    state = split_stat(stat)[1][0]
    told = (_text(f"{folder}/schedstat") or "").split()
    cpu_s = int(told[0]) / 1e9 if told else 0.0
    wakes = int(told[2]) if len(told) > 2 else None
    if state == "R":
        return TaskLook(cpu_s, state, wakes=wakes)
    call, about = system_call(_text(f"{folder}/syscall"))
    waits_for = _file(pid, about) if about is not None else ""
    if call in _SEVERAL and _is_asking_stdin(pid):
        waits_for = STDIN
    # Where the call may not be read, the function of the kernel may.
    sleeps_in = call or (_text(f"{folder}/wchan") or "").strip("0")
    return TaskLook(cpu_s, state, sleeps_in, waits_for, wakes)


def system_call(told: str | None) -> tuple[str, int | None]:
    """Return the name of the call a thread sleeps in and the file it is about."""
    words = (told or "").split()
    if len(words) < 2 or not words[0].lstrip("-").isdigit():
        return "", None  # it runs, or may not be looked at
    number = int(words[0])
    name = _CALLS.get(number, f"system call {number}" if number >= 0 else "")
    return name, int(words[1], 16) if name in _ABOUT_A_FILE else None


def _file(pid: int, number: int) -> str:
    if number == 0:
        return STDIN
    try:
        return os.readlink(f"/proc/{pid}/fd/{number}")
    except OSError:
        return ""


def _is_asking_stdin(pid: int) -> bool:
    """Tell whether a process has a keyboard; what exactly it polls cannot be seen from here."""
    try:
        return os.readlink(f"/proc/{pid}/fd/0").startswith(("/dev/pts/", "/dev/tty"))
    except OSError:
        return False


def split_stat(told: str) -> tuple[str, list[str]]:
    """Return the name and the fields after it (the third first) of a `stat` file."""
    begin, end = told.index("("), told.rindex(")")
    return told[begin + 1 : end], told[end + 2 :].split()


def _text(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:
        return None

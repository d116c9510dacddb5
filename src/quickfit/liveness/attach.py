"""Looks at a process from outside, several times: stacks by py-spy, the rest by the system."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from quickfit.liveness import pyspy, system
from quickfit.liveness.pyspy import ThreadStack

# Of the time, at the end, that the process is left alone: is any thread woken without us?
UNDISTURBED = 0.4
# Twenty looks in some seconds: enough to call a stack the same, or a line the only one.
LOOKS, WINDOW_S = 20, 2.6
# On a busy machine they may take longer; fewer say nothing.
MIN_LOOKS = 3
# What stands still, and what has workers that may just be starting, is looked at for longer.
STILL_WINDOW_S = 5.6
# The kernel shows the command line of a new program a moment after it has begun; a thread of the
# kernel's has none.
STARTING_TRIES, STARTING_TRY_S = 20, 0.01


@dataclass(frozen=True)
class Target:
    """A process to look at.

    Args:
        folder: its working directory.
        script: the folder of its script; empty where it has none.
        command: its command line.
    """

    pid: int
    folder: str
    script: str
    command: tuple[str, ...] = ()


@dataclass
class Looks:
    """What was seen, look by look.

    Args:
        undisturbed: the system's tables after the last look at the stacks. Each of those wakes
            every thread; from here to `last`, only the process itself does.
    """

    stacks: list[list[ThreadStack]] = field(default_factory=list)
    first: system.Look | None = None
    undisturbed: system.Look | None = None
    last: system.Look | None = None
    counters: list[dict[str, float]] = field(default_factory=list)

    @property
    def has_workers(self) -> bool:
        """Whether there are processes below it."""
        return self.last is not None and bool(self.last.below)

    @property
    def stands_still(self) -> bool:
        """Whether the main thread was at one and the same place at every look."""
        pid = self.last.process.pid if self.last is not None else 0
        seen = {s.frames for look in self.stacks for s in look if s.number == pid}
        return len(seen) == 1


def target_of(pid: int) -> Target:
    """Return what is known of a process before it is looked at."""
    command = _command_line(pid)
    folder = _link(f"/proc/{pid}/cwd") or "/"
    script = next((part for part in command[1:] if part.endswith(".py")), "")
    where = os.path.dirname(os.path.normpath(os.path.join(folder, script))) if script else ""
    return Target(pid, folder, where, command)


def _command_line(pid: int) -> tuple[str, ...]:
    """Return how a process was started; one that is just being started has no words yet."""
    for _ in range(STARTING_TRIES):
        words = tuple(part for part in text(f"/proc/{pid}/cmdline").split("\0") if part)
        if words or not text(f"/proc/{pid}/stat"):
            return words
        time.sleep(STARTING_TRY_S)
    return (text(f"/proc/{pid}/comm").strip(),)


def watch(
    target: Target,
    program: str,
    *,
    window_s: float | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Looks:
    """Look at a process for some seconds; it is paused for milliseconds at each look.

    Args:
        target: the process.
        program: py-spy.
        window_s: for how long; without, longer where nothing moves.

    Raises:
        pyspy.Failed: it cannot be looked at, or no longer.
    """
    looks, began_s = Looks(), clock()
    until_s = window_s or WINDOW_S
    every_s = max((1 - UNDISTURBED) * until_s / LOOKS, 0.05)
    while True:
        looked_s = clock()
        looks.stacks.append(pyspy.stacks(program, target.pid, target.folder, target.script))
        looks.last = system.look(target.pid)
        looks.first = looks.first or looks.last
        looks.counters.append(_counters(target.pid, clock()))
        if window_s is None:
            until_s = STILL_WINDOW_S if looks.has_workers or looks.stands_still else WINDOW_S
        is_over = clock() - began_s >= (1 - UNDISTURBED) * until_s
        if is_over and len(looks.stacks) >= MIN_LOOKS:
            break
        sleep(max(every_s - (clock() - looked_s), 0.02))
    looks.undisturbed = system.look(target.pid)
    sleep(UNDISTURBED * until_s)
    looks.last = system.look(target.pid) or looks.last
    looks.counters.append(_counters(target.pid, clock()))
    return looks


def _counters(pid: int, at_s: float) -> dict[str, float]:
    """Return what the system counts for a process; what it does not tell is left out."""
    found = {"at_s": at_s}
    stat = text(f"/proc/{pid}/stat")
    if stat:
        fields = system.split_stat(stat)[1]
        tick_s = 1.0 / os.sysconf("SC_CLK_TCK")
        found["cpu_s"] = (int(fields[11]) + int(fields[12])) * tick_s
        found["major_faults"] = float(fields[9])
    for line in text(f"/proc/{pid}/io").splitlines():
        name, _, value = line.partition(": ")
        if name in ("rchar", "read_bytes"):
            found[name] = float(value)
    pages = [line.split() for line in text("/proc/vmstat").splitlines()]
    swapped = [int(value) for name, value in pages if name in ("pswpin", "pswpout")]
    if swapped:
        found["swapped_bytes"] = float(sum(swapped) * os.sysconf("SC_PAGE_SIZE"))
    return found


def text(path: str) -> str:
    """Return what a small file says, or nothing."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""

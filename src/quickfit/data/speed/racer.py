"""One of two pipelines that are let run in turn: takes elements without end, and leaves marks.

`race` starts it as a program of its own.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, TextIO

from quickfit import terminal
from quickfit.data.speed.machine import tree_cpu_s
from quickfit.data.speed.taking import Taker
from quickfit.data.speed.target import Options, opened
from quickfit.errors import QuickfitError

# Marks closer than this say nothing more.
MARK_S = 0.002
# Reading the CPU time of children takes about a millisecond, so it is done this seldom.
CHILDREN_S = 0.25
READY = "ready"


def run(spec: dict[str, Any], marks: TextIO) -> None:
    """Warm up, say so, and go on until somebody ends the process.

    Args:
        spec: the target, its options, and the seconds of warm-up.
        marks: where to write a line per mark: seconds, examples and CPU seconds so far.
    """
    parent = os.getppid()
    size = spec["options"]["size"]  # JSON has no tuples
    options = Options(**{**spec["options"], "size": tuple(size) if size else None})
    taker = _begun(spec["target"], options)
    ready_s, examples, next_s = time.monotonic() + spec["warmup_s"], 0, 0.0
    is_ready, cpu = False, _Cpu()
    while os.getppid() == parent:
        if not taker.step():  # used up: the function is called again
            examples += taker.examples
            taker = _begun(spec["target"], options)
        now_s = time.monotonic()
        if not is_ready and now_s >= ready_s:
            is_ready = True
            marks.write(f"{READY}\n")
        if now_s >= next_s:
            next_s = now_s + MARK_S
            marks.write(f"{now_s!r} {examples + taker.examples} {cpu.read_s(now_s)!r}\n")
            marks.flush()


class _Cpu:
    """The CPU time of this process, with that of its children as it was a moment ago."""

    def __init__(self) -> None:
        self._children_s, self._next_s = 0.0, 0.0

    def read_s(self, now_s: float) -> float:
        """Return the CPU time so far."""
        own_s = time.process_time()
        if now_s >= self._next_s:
            self._next_s = now_s + CHILDREN_S
            self._children_s = tree_cpu_s() - own_s
        return own_s + self._children_s


def _begun(target: str, options: Options) -> Taker:
    taker = Taker(opened(target, options).feed)
    taker.first()
    return taker


def main() -> None:
    """Run as a program: a specification as JSON, and the file for the marks."""
    with open(sys.argv[2], "w", encoding="ascii") as marks:
        try:
            run(json.loads(sys.argv[1]), marks)
        except QuickfitError as error:
            terminal.say(str(error))
            sys.exit(error.exit_code)

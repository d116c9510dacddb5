"""Compares two pipelines: each runs in its own process, and they take turns."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import quickfit
from quickfit import terminal
from quickfit.data.speed.figures import TimeSpan
from quickfit.data.speed.target import TargetOptions, open_target
from quickfit.data.speed.timing import ElementTaker, tree_cpu_s
from quickfit.errors import PipelineError, QuickfitError, UsageError
from quickfit.lab.child import STDERR, Child, ChildOptions
from quickfit.lab.child_side import settle
from quickfit.lab.statistics import SETTLE_S, Measured, interval
from quickfit.lab.turns import Block, Mark, compare, take_turns

# Marks closer than this say nothing more.
MARK_EVERY_S = 0.002
# Reading the CPU time of children takes about a millisecond, so it is done this seldom.
CHILDREN_EVERY_S = 0.25
READY_MARK = "ready"
ROUNDS = 6
MIN_ROUNDS = 3
_POLL_S = 0.05


def run_racer(spec: dict[str, Any], marks: TextIO) -> None:
    """Warm up, say so, and go on until the process is ended.

    Args:
        spec: the target, its options, and the seconds of warm-up.
        marks: where to write a line per mark: seconds, examples and CPU seconds so far.
    """
    parent = os.getppid()
    size = spec["options"]["size"]  # JSON has no tuples
    options = TargetOptions(**{**spec["options"], "size": tuple(size) if size else None})
    taker = _begin_target(spec["target"], options)
    ready_s, examples, next_s = time.monotonic() + spec["warmup_s"], 0, 0.0
    is_ready, cpu = False, _CpuClock()
    while os.getppid() == parent:
        if not taker.step():  # used up: the function is called again
            examples += taker.examples
            taker = _begin_target(spec["target"], options)
        now_s = time.monotonic()
        if not is_ready and now_s >= ready_s:
            is_ready = True
            marks.write(f"{READY_MARK}\n")
        if now_s >= next_s:
            next_s = now_s + MARK_EVERY_S
            marks.write(f"{now_s!r} {examples + taker.examples} {cpu.read_s(now_s)!r}\n")
            marks.flush()


class _CpuClock:
    """The CPU time of this process, with that of its children as it was a moment ago."""

    def __init__(self) -> None:
        self._children_s, self._next_s = 0.0, 0.0

    def read_s(self, now_s: float) -> float:
        """Return the CPU time so far."""
        own_s = time.process_time()
        if now_s >= self._next_s:
            self._next_s = now_s + CHILDREN_EVERY_S
            self._children_s = tree_cpu_s() - own_s
        return own_s + self._children_s


def _begin_target(target: str, options: TargetOptions) -> ElementTaker:
    taker = ElementTaker(open_target(target, options).feed)
    taker.first()
    return taker


def racer_main() -> None:
    """Run as a program: a specification as JSON, the file for the marks, and the parent."""
    settle(int(sys.argv[3]))  # a stopped one would outlive a killed parent
    with open(sys.argv[2], "w", encoding="ascii") as marks:
        try:
            run_racer(json.loads(sys.argv[1]), marks)
        except QuickfitError as error:
            terminal.say(str(error))
            sys.exit(error.exit_code)


# Found last, so that nothing beside quickfit comes before what Python has.
_PROGRAM = (
    f"import sys; sys.path.append({str(Path(quickfit.__file__).parents[1])!r});"
    " from quickfit.data.speed.race import racer_main; racer_main()"
)


@dataclass(frozen=True)
class Race:
    """Two pipelines side by side; `ratio` is how many times as fast the second one is."""

    names: tuple[str, str]
    spans: tuple[TimeSpan, TimeSpan]
    ratio: Measured

    @property
    def is_different(self) -> bool:
        """Tell whether one is faster than the other, as far as this can tell."""
        return self.ratio.low > 1.0 or self.ratio.high < 1.0


def race_targets(
    targets: tuple[str, str],
    options: TargetOptions,
    *,
    seconds: float,
    warmup_s: float,
    tell: Callable[[str, float], None] = lambda what, share: None,
) -> Race:
    """Measure two targets in turn, for so many seconds each.

    Raises:
        UsageError: one of them means nothing that can be measured.
        PipelineError: one of them ended or is too slow to be compared.
    """
    with tempfile.TemporaryDirectory(prefix="quickfit-bench-") as folder:
        files = (Path(folder, "first"), Path(folder, "second"))
        runners: list[Child] = []
        try:
            for target, file in zip(targets, files, strict=True):
                tell(f"starting {target}", 0.0)
                runners.append(_start_racer(target, options, warmup_s, file))
                _wait_until_ready(runners[-1], file, target)
                runners[-1].pause()
            tell("measuring in turn", 0.0)
            blocks = take_turns(
                runners,
                rounds=ROUNDS,
                block_s=seconds / ROUNDS + SETTLE_S,
                tell=lambda done: tell("measuring in turn", done / ROUNDS),
            )
            for target, runner in zip(targets, runners, strict=True):
                _check_running(runner, target, "while it was measured")
        finally:
            for runner in runners:
                runner.end()
        marks = [marks_in(file.read_text()) for file in files]
    return compare_marks(targets, blocks, (marks[0], marks[1]))


def _start_racer(target: str, options: TargetOptions, warmup_s: float, file: Path) -> Child:
    spec = {"target": target, "options": dataclasses.asdict(options), "warmup_s": warmup_s}
    # With -P, a `queue.py` of the user's does not hide that of Python.
    command = [sys.executable, "-P", "-c", _PROGRAM, json.dumps(spec), str(file)]
    command += [str(os.getpid())]
    return Child(command, ChildOptions(stdout=STDERR))  # what it prints is not our answer


def _wait_until_ready(runner: Child, file: Path, target: str) -> None:
    while not (file.exists() and f"{READY_MARK}\n" in file.read_text()):
        _check_running(runner, target, "before it was warm")
        time.sleep(_POLL_S)


def _check_running(runner: Child, target: str, when: str) -> None:
    code = runner.poll()
    if code is not None:
        # A target that makes no sense ends a comparison as it ends a measurement.
        kind = UsageError if code == UsageError.exit_code else PipelineError
        raise kind(
            f"{target}: it ended (exit code {code}) {when}; what it said is above.\n"
            f"Try it alone: quickfit bench {target}"
        )


def marks_in(text: str) -> list[Mark]:
    """Return the marks of a runner; the last line may have been cut."""
    lines = [line.split() for line in text.splitlines()[:-1]]
    return [Mark(float(one[0]), float(one[2]), int(one[1])) for one in lines if len(one) == 3]


def compare_marks(
    names: tuple[str, str],
    blocks: Sequence[Block],
    marks: tuple[Sequence[Mark], Sequence[Mark]],
) -> Race:
    """Return how two runners did in their own blocks.

    Raises:
        PipelineError: too few blocks held two elements.
    """
    found = compare(blocks, marks)
    if len(found.ratios) < MIN_ROUNDS:
        most = max(found.empty)
        raise PipelineError(
            f"{names[found.empty.index(most)]}: in {most} of its {len(blocks) // 2} turns it made"
            " less than two elements, so the two cannot be compared.\n"
            "Give them more time: quickfit bench A B --seconds 60"
        )
    spans = [
        TimeSpan(pace.steps, pace.steps, pace.steps * pace.step_s, pace.steps * pace.step_cpu_s)
        for pace in (found.first, found.second)
    ]
    return Race(names, (spans[0], spans[1]), interval(found.ratios))

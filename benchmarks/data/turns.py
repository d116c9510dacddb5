"""Lets cases run in turn in short blocks, each in a process of its own, and keeps what they did.

All cases are started and warmed first. Then, in rounds of changing order, one at a time works for
a block while the others wait with full buffers: what the machine does meanwhile hits all alike.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from data.cases import Case
from data.cpu import machine_cpu_s, tree_cpu_s

BENCHMARKS = Path(__file__).parents[1]
# A case rests when it uses less than this share of a core; it then has filled its buffers.
RESTING_SHARE = 0.1
LOOK_S, MAX_REST_S = 0.1, 3.0
# The line of a traceback that says what was raised; more lines of the message may follow.
RAISED = re.compile(r"[\w.]*(Error|Exception|Exit|Interrupt)\b: ")


@dataclass(frozen=True)
class Block:
    """What one case did in one block: images, wall and CPU time, and other load in cores."""

    images: int
    wall_s: float
    cpu_s: float
    other_cores: float

    @property
    def rate(self) -> float:
        """Images per second."""
        return self.images / self.wall_s

    @property
    def image_cpu_s(self) -> float:
        """CPU seconds of one image."""
        return self.cpu_s / self.images


@dataclass
class Result:
    """One case: its blocks, what was seen of its output, or why there are none."""

    case: Case
    blocks: list[Block] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)  # Any: what the check tells
    failure: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return all of it in plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Plan:
    """How long and how often: rounds, seconds of a block, seconds of warm-up before all."""

    rounds: int
    block_s: float
    warm_s: float


class CaseError(Exception):
    """A case ended by itself; the message is its last words."""


class Child:
    """A case in a process of its own that answers each line with one line of JSON."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed in `end`)
        paths = [str(BENCHMARKS), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "data.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # so that its workers can be ended with it
        )
        self.pid = self._process.pid
        self._say(json.dumps(job))

    def ask(self, line: str) -> dict[str, Any]:
        """Send a line and return the answer."""
        self._say(line)
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """Wait for an answer.

        Raises:
            CaseError: the process ended instead.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise CaseError(self._last_words())
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        """End the process and what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(BrokenPipeError):  # of a line that nobody read
                pipe.close()  # type: ignore[union-attr]  # made with pipes

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # `answer` tells why
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def _last_words(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        raised = [line for line in lines if RAISED.match(line)]
        return (raised or lines or [f"ended with code {code}"])[-1]


def measure(cases: Sequence[Case], plan: Plan, *, shared: dict[str, Any]) -> list[Result]:
    """Return what each case did. `shared` is handed to all of them beside their own options."""
    results = [Result(case) for case in cases]
    with _started(results, {**shared, "warm_s": plan.warm_s}) as children:
        for number in range(plan.rounds):
            order = [result for result in results if result.case.name in children]
            random.Random(number).shuffle(order)
            for result in order:
                _one_block(result, children, plan.block_s)
            tell(f"round {number + 1} of {plan.rounds}")
    return results


def tell(text: str) -> None:
    """Say on stderr how far it is."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _started(results: Sequence[Result], shared: dict[str, Any]) -> Iterator[dict[str, Child]]:
    """Start the cases that can run, one after the other, and end them all at last."""
    children: dict[str, Child] = {}
    try:
        for result in results:
            case = result.case
            if missing := case.missing():
                result.failure = f"not installed: {', '.join(missing)}"
                continue
            tell(f"starting {case.name}")
            own = {"make": case.make, "options": case.options, "checked": case.checked}
            child = Child({**shared, **own})
            children[case.name] = child
            try:
                result.seen = child.answer()
                _rest(child)
            except CaseError as error:
                result.failure = str(error)
                children.pop(case.name).end()
        yield children
    finally:
        for child in children.values():
            child.end()
        tell("")


def _one_block(result: Result, children: dict[str, Child], block_s: float) -> None:
    child = children[result.case.name]
    busy_s, begin_s = machine_cpu_s(), time.monotonic()
    try:
        answer = child.ask(f"go {block_s}")
    except CaseError as error:
        result.failure = str(error)
        children.pop(result.case.name).end()
        return
    other_s = machine_cpu_s() - busy_s - answer["spent_cpu_s"]
    other_cores = max(0.0, other_s / (time.monotonic() - begin_s))
    result.blocks.append(Block(**answer["done"], other_cores=other_cores))
    _rest(child)


def _rest(child: Child) -> None:
    """Wait until a case has filled its buffers and rests."""
    end_s = time.monotonic() + MAX_REST_S
    before_s = tree_cpu_s(child.pid)
    while time.monotonic() < end_s:
        time.sleep(LOOK_S)
        now_s = tree_cpu_s(child.pid)
        if now_s - before_s < RESTING_SHARE * LOOK_S:
            return
        before_s = now_s

"""The process of one case: makes it, checks its output, warms it up, and works when told to.

Its first line on stdin is the job, in JSON. It answers when it is warm; after that, `go SECONDS`
lets it work that long, and it answers with what it has done.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from data.cpu import own_cpu_s

# Buffers that filled while it waited are empty after this long.
SETTLE_S = 0.2
# How the output is checked, where a job names nothing else.
CHECK = "data.outputs:check"


class Turns:
    """Answers each `go SECONDS` with the images done in that time, the first moments left out.

    Args:
        answers: the file descriptor to answer on.
    """

    def __init__(self, answers: int) -> None:
        self._answers = answers
        self._from_s = self._begin_s = self._block_s = self._cpu_s = 0.0
        self._woken_cpu_s = 0.0
        self._images = -1

    def answer(self, found: dict[str, Any]) -> None:
        """Write one answer."""
        os.write(self._answers, json.dumps(found).encode() + b"\n")

    def wait(self) -> None:
        """Wait for the next command; the end of the commands is the end of the process."""
        words = sys.stdin.readline().split()
        if not words:
            os._exit(0)
        self._block_s = float(words[1])
        self._from_s = time.monotonic() + SETTLE_S
        self._woken_cpu_s = own_cpu_s()
        self._images = -1

    def done(self, images: int) -> None:
        """Count images that are done; at the end of a block, answer and wait for the next."""
        now_s = time.monotonic()
        if self._images < 0:
            if now_s >= self._from_s:
                self._begin_s, self._cpu_s, self._images = now_s, own_cpu_s(), 0
            return
        self._images += images
        wall_s = now_s - self._begin_s
        if wall_s >= self._block_s:
            self.finish(self._images, wall_s, own_cpu_s() - self._cpu_s)

    def finish(self, images: int, wall_s: float, cpu_s: float) -> None:
        """Answer with what was done, and wait for the next command."""
        done = {"images": images, "wall_s": wall_s, "cpu_s": cpu_s}
        self.answer({"done": done, "spent_cpu_s": own_cpu_s() - self._woken_cpu_s})
        self.wait()


def endless(epochs: Iterable[Any]) -> Iterator[Any]:
    """Yield the batches of one epoch after the other.

    No iterator is let go of: TensorFlow may wait for seconds where one ends (decision 0009), at
    random, whoever made the pipeline.
    """
    kept = []
    while True:
        kept.append(iter(epochs))
        yield from kept[-1]


def work(made: Iterable[Any], job: dict[str, Any], turns: Turns) -> None:
    """Check and warm up a loader, then let it work in turns."""
    batches = endless(made)
    check = named(job.get("check", CHECK))
    seen = check(batches, Path(job["photos"]), **job.get("checked", {}))
    end_s = time.monotonic() + job["warm_s"]
    while time.monotonic() < end_s:
        next(batches)
    turns.answer(seen)
    turns.wait()
    for _, labels in batches:
        turns.done(len(labels))


def epochs(made: Iterable[Any], count: int, turns: Turns) -> None:
    """Answer with the images, wall and CPU time of each of the first epochs, when told to."""
    turns.answer({})
    turns.wait()
    for _ in range(count):
        begin_s, cpu_s = time.monotonic(), own_cpu_s()
        images = sum(len(labels) for _, labels in made)
        wall_s = time.monotonic() - begin_s
        turns.answer({"images": images, "wall_s": wall_s, "cpu_s": own_cpu_s() - cpu_s})


def named(where: str) -> Callable[..., Any]:
    """Return a function by `module:function`."""
    module, _, function = where.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


def main() -> None:
    """Do the job on the first line of stdin."""
    # What libraries print must not be taken for an answer.
    answers = os.dup(1)
    os.dup2(2, 1)
    job = json.loads(sys.stdin.readline())
    sys.argv = sys.argv[:1]  # Grain's workers parse it
    turns = Turns(answers)
    make = named(job["make"])
    if job.get("takes_turns"):  # it has a loop of its own, and counts there
        make(Path(job["photos"]), turns, **job["options"])
        return
    made = make(Path(job["photos"]), **job["options"])
    if "epochs" in job:
        epochs(made, job["epochs"], turns)
    else:
        work(made, job, turns)


if __name__ == "__main__":
    main()

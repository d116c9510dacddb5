"""Where the time of every kind of training loop goes, and how much of it nobody can name.

Runs each script of `tests/scripts/loops` by itself under `quickfit run` and prints a table: the
loop with its line, its steps, the share of each part of the time, and the unattributed share,
which has to stay below a tenth. A first short run of a script tells how many steps it takes to
train for some seconds.

Shares depend on the machine: what a step costs, and how long TensorFlow takes to end an
iterator. Only the last column is a promise.

    python benchmarks/loops.py [--quick] [--seconds 12] [--only fit_arrays custom_for]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from quickfit.diagnosis.breakdown import breakdown
from quickfit.errors import SignalMissing
from quickfit.recording import reader
from quickfit.signals import Signals
from quickfit.signals.loops import Loop
from quickfit.units import seconds, share

SCRIPTS = Path(__file__).resolve().parents[1] / "tests" / "scripts" / "loops"
MARK = "# the loop"
MAX_UNATTRIBUTED_SHARE = 0.10
# Smaller parts are left out of the table.
MIN_SHARE = 0.005
# Steps per epoch of the run that only tells how long a step is.
FIRST_STEPS = 40
# Steps per epoch with --quick; `predict` takes tens of milliseconds for a single row.
QUICK_STEPS = 300
QUICK_SLOW = {"predict_loop": 60, "fit_eager": 150}
# More steps than this are not kept one by one.
MAX_STEPS = 15_000


@dataclass(frozen=True)
class Row:
    """What is printed of one loop."""

    name: str
    kind: str
    line: int
    steps: int
    step_s: float
    wait: str
    parts: str
    unattributed_share: float


def main() -> int:
    """Print the table; the exit code says whether every loop is explained."""
    options = arguments()
    names = options.only or sorted(p.stem for p in SCRIPTS.glob("*.py") if p.stem != "several")
    print(f"{'loop':30}{'kind':16}{'line':>5}{'steps':>7}{'step':>9}  unattributed  parts")
    with tempfile.TemporaryDirectory() as temp:
        failed = [text for name in names for text in measured(name, options, Path(temp))]
    print("\n" + ("\n".join(failed) or "every loop is found and explained"))
    return 1 if failed else 0


def measured(name: str, options: argparse.Namespace, temp: Path) -> list[str]:
    """Print the lines of one script; return what is wrong with them."""
    steps = QUICK_SLOW.get(name, QUICK_STEPS)
    if not options.quick:
        steps = steps_for(options.seconds, name, temp)
    found = list(rows(name, record(name, steps, temp)))
    for row in found:
        show(row)
    missing = {*marked_lines(name)} - {row.line for row in found}
    return [f"{name}:{line} was not found" for line in missing] + [
        f"{name}:{row.line}: {share(row.unattributed_share)} of the time is unattributed"
        for row in found
        if row.unattributed_share >= MAX_UNATTRIBUTED_SHARE
    ]


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these scripts")
    parser.add_argument("--quick", action="store_true", help="a few hundred steps of each")
    parser.add_argument("--seconds", type=float, default=12.0, help="of training per script")
    return parser.parse_args()


def show(row: Row) -> None:
    """Print one line of the table."""
    print(
        f"{row.name:30}{row.kind:16}{row.line:>5}{row.steps:>7}{seconds(row.step_s):>9}"
        f"{share(row.unattributed_share):>14}  {row.wait}{row.parts}",
        flush=True,
    )


def steps_for(train_s: float, name: str, temp: Path) -> int:
    """Return how many steps per epoch make a script train for about so many seconds."""
    signals = Signals(record(name, FIRST_STEPS, temp))
    found = [loop for loop in signals.loops if is_marked(loop, name)]
    took_s, steps = 0.0, 0
    for loop in found:
        mine = about(signals, loop).all_steps
        count = step_count(signals, loop)
        took_s += count * mine.median_s if mine is not None else loop.duration_s
        steps += count
    if not took_s:
        return QUICK_STEPS
    wanted = min(FIRST_STEPS * train_s / took_s, FIRST_STEPS * MAX_STEPS / steps)
    # In whole calls of five steps, for the script that runs five at once.
    return max(int(wanted) // 5 * 5, FIRST_STEPS)


def record(name: str, steps: int, temp: Path) -> reader.Recording:
    """Run a script under quickfit and return its recording."""
    run = temp / f"{name}-{steps}.qfrun"
    script = str(SCRIPTS / f"{name}.py")
    command = [sys.executable, "-m", "quickfit", "run", "--output", str(run), script, str(steps)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr[-3000:]}")
    return reader.read(run)


def rows(name: str, recording: reader.Recording) -> Iterator[Row]:
    """Yield what was found of the loops that a script marks."""
    signals = Signals(recording)
    for loop in signals.loops:
        if not is_marked(loop, name):
            continue
        mine = about(signals, loop)
        parts = breakdown(mine)
        if parts is None or loop.location is None:
            continue
        shares = {part.name: part.share for part in parts.parts}
        left = shares.pop("unattributed")
        large = sorted(shares.items(), key=lambda part: -part[1])
        text = ", ".join(f"{part} {share(size)}" for part, size in large if size >= MIN_SHARE)
        count = step_count(signals, loop)
        where = (name, loop.kind, loop.location.line, count, parts.step_s)
        yield Row(*where, wait_text(mine), text, left)


def about(signals: Signals, loop: Loop) -> Signals:
    """Return signals that take a loop of our choice for the main one."""
    chosen = Signals(signals.recording)
    chosen.loop = loop
    return chosen


def wait_text(signals: Signals) -> str:
    """Return a remark where the wait for input could not be measured."""
    try:
        _ = signals.wait
    except SignalMissing:
        return "(wait not measured) "
    return ""


def step_count(signals: Signals, loop: Loop) -> int:
    """Return how many steps of a loop were recorded."""
    return sum(row["loop"] == loop.id for row in signals.process.rows("steps"))


def is_marked(loop: Loop, name: str) -> bool:
    """Tell whether a loop is one that a script marks."""
    where = loop.location
    return where is not None and Path(where.file).stem == name and where.line in marked_lines(name)


def marked_lines(name: str) -> list[int]:
    """Return the lines that a report of a script must name."""
    lines = (SCRIPTS / f"{name}.py").read_text().splitlines()
    return [number for number, text in enumerate(lines, 1) if text.endswith(MARK)]


if __name__ == "__main__":
    sys.exit(main())

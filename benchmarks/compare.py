"""How often `quickfit compare` is wrong: false alarms, and planted differences that it finds.

    python benchmarks/compare.py --record FOLDER --runs 5 SCRIPT…    record scripts again and again
    python benchmarks/compare.py --judge FOLDER                      compare those runs in pairs
    python benchmarks/compare.py --resample                          runs made of kept recordings
    python benchmarks/compare.py --simulate                          pairs in turns, by their spread

`--judge` compares every two real runs of one script: as they are (A/A), and with the steps of the
second 10 % longer. Also the spread between runs (one standard deviation of a step's logarithm).
`--resample` makes two runs of one kept recording: stretches of 6 steps drawn with replacement, and
each run as a whole slower or faster by a share that is drawn too.
`--simulate` draws ratios of pairs with a spread as measured ones have, and decides as a run would.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from quickfit.comparing.pace import (
    STRETCH_STEPS,
    Pace,
    has_other_epochs,
    pace_of,
    pace_of_marks,
    slower_of,
)
from quickfit.comparing.recordings import is_slower_than
from quickfit.comparing.revisions import is_decided, slower_interval
from quickfit.lab.script_pair import progress_of
from quickfit.lab.verdict import MOST_PAIRS
from quickfit.recording.reader import read

PLANTED, LIMIT = 1.10, 0.0
SPREADS = (0.01, 0.02, 0.04, 0.08)
TRIES = 4000
RESAMPLED = 800
RECORDINGS = Path(__file__).parents[1] / "tests" / "recordings" / "healthy"
KEPT = ("small_cnn", "numpy_fit", "tfdata_images", "noisy_steps", "lstm_text", "custom_loop")


def main() -> None:
    """Do what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--judge", type=Path)
    parser.add_argument("--simulate", action="store_true")
    parser.add_argument("--resample", action="store_true")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("scripts", nargs="*", type=Path)
    options = parser.parse_args()
    if options.record:
        record(options.record, options.scripts, options.runs, options.steps)
    if options.judge:
        judge(options.judge)
    if options.resample:
        resample()
    if options.simulate:
        simulate()


def record(folder: Path, scripts: list[Path], runs: int, steps: int) -> None:
    """Record each script so often, one after the other, in rounds."""
    for number, script in itertools.product(range(runs), scripts):
        target = folder / f"{script.stem}-{number}.qfrun"
        command = [sys.executable, "-m", "quickfit", "run", "--steps", str(steps)]
        subprocess.run([*command, "--output", str(target), str(script)], capture_output=True)


def judge(folder: Path) -> None:
    """Print false alarms, and planted differences that were found."""
    scripts: dict[str, list[Pace]] = {}
    for run in sorted(folder.glob("*.qfrun")):
        pace = pace_of(read(run))
        if pace is not None:
            scripts.setdefault(run.name.rpartition("-")[0], []).append(pace)
    alarms = found = pairs = 0
    for name, paces in scripts.items():
        logs = [math.log(pace.step_s) for pace in paces]
        others = max(pace.others for pace in paces)
        print(
            f"{name}: {len(paces)} runs differ by {statistics.stdev(logs):.3f}; others {others:.0%}"
        )
        for one, other in itertools.permutations(paces, 2):
            pairs += 1
            assert not has_other_epochs(one, other)
            slow = dataclasses.replace(other, step_s=PLANTED * other.step_s)
            alarms += is_slower_than(slower_of(one, other, per_epoch=False), LIMIT)
            found += is_slower_than(slower_of(one, slow, per_epoch=False), LIMIT)
    print(f"two recordings: {alarms} alarms in {pairs} pairs of runs; planted found in {found}")


def resample() -> None:
    """Print alarms and planted differences between runs that are made of real stretches."""
    draws = random.Random(7)
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        for name in KEPT:
            with tarfile.open(RECORDINGS / f"{name}.alone.tar.xz") as archive:
                archive.extractall(Path(folder) / name, filter="data")
            progress = progress_of(read(Path(folder) / name / "run.qfrun"))
            assert progress is not None
            marks = progress.warm_steps()
            kept.append([b[0] - a[0] for a, b in itertools.pairwise(marks)])
    for spread in (0.01, 0.03, 0.06):
        answers = dict.fromkeys((1.0, 1.1, 1.2, 1.3), 0)
        for factor in answers:
            for number in range(RESAMPLED):
                steps = kept[number % len(kept)]
                one, other = (_drawn(draws, steps, spread) for _ in range(2))
                slow = dataclasses.replace(other, step_s=factor * other.step_s)
                span = slower_of(one, slow, per_epoch=False)
                # Without a difference, either direction is an alarm.
                answers[factor] += span.low > 1 or (factor == 1.0 and span.high < 1)
        shown = ", ".join(f"{f - 1:.0%} {n / RESAMPLED:.1%}" for f, n in answers.items())
        print(f"two recordings, runs spread by {spread:.0%}: called different at {shown}")


def _drawn(draws: random.Random, steps: list[float], spread: float) -> Pace:
    """Return a run of as many steps, made of real stretches."""
    size, drawn = STRETCH_STEPS, []
    while len(drawn) < len(steps):
        begin = draws.randrange(max(len(steps) - size, 1))
        drawn += steps[begin : begin + size]
    scale = math.exp(draws.gauss(0, spread))
    marks = [(0.0, 0.0)]
    for number, seconds in enumerate(drawn, 1):
        marks.append((marks[-1][0] + scale * seconds, float(number)))
    return pace_of_marks(marks)


def simulate() -> None:
    """Print how often pairs in turns are wrong, by the spread of their ratios."""
    draws = random.Random(7)
    for spread in SPREADS:
        answers = {}
        for factor in (1.0, PLANTED):
            kinds = [_decide(draws, factor, spread) for _ in range(TRIES)]
            answers[factor] = [sum(k[n] for k in kinds) / TRIES for n in (0, 1, 2)]
        alarm, planted = answers[1.0], answers[PLANTED]
        print(
            f"pairs spread by {spread:.0%}: without a difference {alarm[0]:.1%} slower,"
            f" {alarm[1]:.1%} beyond 10 %; 10 % planted: found {planted[0]:.1%};"
            f" {alarm[2]:.1f} and {planted[2]:.1f} pairs"
        )


def _decide(draws: random.Random, factor: float, spread: float) -> tuple[bool, bool, int]:
    """Return whether it is called slower, slower than 10 %, and after how many pairs."""
    ratios: list[float] = []
    while len(ratios) < MOST_PAIRS and not is_decided(ratios, None):
        ratios.append(math.exp(draws.gauss(0, spread)) / factor)
    slower = slower_interval(ratios)
    return is_slower_than(slower, 0.0), is_slower_than(slower, 0.1), len(ratios)


if __name__ == "__main__":
    main()

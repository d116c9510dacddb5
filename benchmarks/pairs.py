"""Every example pair: is its cause named first, at which line, and does the gain come true?

    python benchmarks/pairs.py [--only CAUSE …] [--runs 3] [--keep FOLDER]

`slow.py` and `fixed.py` of each folder of `corpus/pairs/` do the same training. They are run in
turn under quickfit, in fresh processes. Of `slow.py` the report must name the cause of the folder
first; the measured gain is the ratio of the medians of the training time. It ends with the last
loop, and begins after the first step, or before it where the cause is about the start: a
prediction is one for a long training, of which building the first graph is next to nothing. Where
the cause is outside the training, it is the time of the run. CPU
time is shown beside wall time: on a shared machine wall time alone says little. `--keep` packs
the recordings of the slow scripts for the tests.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from _cases import PAIRS, Case, pack, pairs, run
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import Diagnosis, Finding
from quickfit.recording import reader
from quickfit.recording.reader import Recording

# Causes of which the start is a part.
AT_START = (
    *("xla-first-compile", "shuffle-buffer-too-big", "shuffle-after-decode"),
    *("fit-or-compile-in-loop", "retrace-shapes", "retrace-python-args", "time-in-tracing"),
)
# Causes outside the training: what goes away is time of the run.
OF_THE_RUN = (
    *("time-before-training", "time-after-training", "time-in-saving", "time-in-validation"),
)
ROW = "{:28} {:28} {:>7} {:>14} {:>8} {:>9} {:>6} {}"


@dataclass(frozen=True)
class Run:
    """One run of a script: wall and CPU seconds of its training, and what was said of it."""

    train_s: float
    cpu_s: float
    diagnosis: Diagnosis


@dataclass(frozen=True)
class Pair:
    """What became of one example."""

    case: Case
    slow: list[Run]
    fixed: list[Run]

    @property
    def is_right(self) -> bool:
        """Whether the cause was named first."""
        return self.case.is_named(self.slow[0].diagnosis)

    @property
    def first(self) -> Finding | None:
        """What the first run of the slow script was said to suffer from."""
        findings = self.slow[0].diagnosis.findings
        return findings[0] if findings else None

    @property
    def measured(self) -> float:
        """How many times as fast the fixed script is."""
        slow_s, fixed_s = (statistics.median(r.train_s for r in runs) for runs in self._both)
        return slow_s / fixed_s

    @property
    def measured_cpu(self) -> float:
        """The same in CPU time."""
        slow_s, fixed_s = (statistics.median(r.cpu_s for r in runs) for runs in self._both)
        return slow_s / max(fixed_s, 1e-9)

    @property
    def _both(self) -> tuple[list[Run], list[Run]]:
        return self.slow, self.fixed

    @property
    def is_about_speed(self) -> bool:
        """Whether a gain was predicted at all: what trains on wrong numbers may be no slower."""
        return self.first is None or self.first.gain.high > 1.0

    @property
    def is_inside(self) -> bool:
        """Whether the measured gain lies in the predicted range."""
        gain = self.first.gain if self.first else None
        return gain is not None and gain.low <= self.measured <= gain.high


def main() -> int:
    """Print the table; the exit code says whether every cause was named first."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    seen = []
    heads = ("example", "named first", "line", "predicted", "likely", "measured", "CPU", "")
    print(ROW.format(*heads))
    for case in pairs():
        if not options.only or case.name in options.only:
            seen.append(measure(case, options.runs, options.keep))
            print(row(seen[-1]), flush=True)
    summary(seen)
    return int(not all(pair.is_right for pair in seen))


def measure(case: Case, runs: int, keep: Path | None) -> Pair:
    """Run both scripts of an example in turn."""
    pair = Pair(case, [], [])
    fixed = Case(f"{case.name}.fixed", (PAIRS / case.name / "fixed.py",))
    with tempfile.TemporaryDirectory(prefix="quickfit-bench-") as temp:
        for number in range(runs):
            order = [(case, pair.slow), (fixed, pair.fixed)]
            for script, kept in order if number % 2 == 0 else reversed(order):
                folder = Path(temp) / f"{number}-{script.name}"
                kept.append(watched(script, folder))
                if keep is not None and number == 0 and script is case:
                    pack(folder / "run.qfrun", keep / f"{case.name}.tar.xz")
    return pair


def watched(case: Case, folder: Path) -> Run:
    """Run a script under quickfit in a folder of its own."""
    recording = reader.read(run(case, folder))
    name = case.name.removesuffix(".fixed")
    if name in OF_THE_RUN:
        times = run_time(recording)
    else:
        times = training_time(recording, whole=name in AT_START)
    return Run(*times, diagnose_recording(recording))


def training_time(recording: Recording, *, whole: bool) -> tuple[float, float]:
    """Return wall and CPU seconds of the training, with or without its first step."""
    main = max((recording.main, *recording.others), key=lambda p: len(p.rows("steps")))
    loops, steps = main.rows("loops"), main.rows("steps")
    begin_s = min((row["entered_s"] for row in loops), default=0.0)
    if not whole:
        begin_s = min((row["end_s"] for row in steps), default=begin_s)
    ends = [row["end_s"] for row in (*loops, *steps) if row["end_s"] is not None]
    end_s = max(ends, default=begin_s)
    inside = [row for row in main.rows("machine") if begin_s <= row["at_s"] <= end_s + 1.0]
    cpu_s = inside[-1]["cpu_s"] - inside[0]["cpu_s"] if len(inside) > 1 else math.nan
    return end_s - begin_s, cpu_s


def run_time(recording: Recording) -> tuple[float, float]:
    """Return wall and CPU seconds of the script, from its first line to its last."""
    main = recording.main
    took_s = float(main.facts["ended_s"]) - float(main.facts["started_s"])
    return took_s, max((row["cpu_s"] for row in main.rows("machine")), default=math.nan)


def row(pair: Pair) -> str:
    """Return one line of the table."""
    first = pair.first
    if first is None:
        said = pair.slow[0].diagnosis.headline[:28]
        cells: tuple[str, ...] = (f"({said})", "", "", "")
    else:
        is_placed = pair.case.is_placed(pair.slow[0].diagnosis)
        line = f"{first.where.line}{'' if is_placed else '!'}" if first.where else "-"
        gain = first.gain
        cells = (first.cause, line, f"{gain.low:.2f}-{gain.high:.2f}", f"{gain.likely:.2f}")
    left = [f.cause for run in pair.fixed for f in run.diagnosis.findings]
    remark = "" if pair.is_inside else "outside" if pair.is_about_speed else "wrong, not slow"
    remark += f" fixed.py: {', '.join(sorted(set(left)))}" if left else ""
    return ROW.format(
        pair.case.name, *cells, f"{pair.measured:.2f}", f"{pair.measured_cpu:.2f}", remark
    )


def summary(pairs: list[Pair]) -> None:
    """Print how well the predictions held."""
    right = [pair for pair in pairs if pair.is_right]
    predicted = [pair for pair in right if pair.is_about_speed]
    inside = sum(pair.is_inside for pair in predicted)
    errors = [abs(math.log(p.first.gain.likely / p.measured)) for p in predicted if p.first]
    print(f"\n{len(right)} of {len(pairs)} named first")
    print(f"{inside} of {len(predicted)} gains inside the predicted range")
    if errors:
        print(f"median of |log(likely / measured)|: {statistics.median(errors):.2f}")


if __name__ == "__main__":
    sys.exit(main())

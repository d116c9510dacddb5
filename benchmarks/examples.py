"""Every example pair: is its cause named first, at which line, and does the gain come true?

    python benchmarks/examples.py [--only CAUSE …] [--runs 3]

`slow.py` and `fixed.py` of each folder of `examples/` do the same training. They are run in turn
under quickfit, in fresh processes. Of `slow.py` the report must name the cause of the folder
first; the measured gain is the ratio of the medians of the training time, from the first loop's
begin to the last loop's end. CPU time is shown beside wall time: on a shared machine wall time
alone says little.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import Diagnosis, Finding
from quickfit.recording import reader
from quickfit.recording.reader import Recording

EXAMPLES = Path(__file__).parent.parent / "examples"
ROW = "{:28} {:28} {:>6} {:>14} {:>8} {:>9} {:>6} {}"


@dataclass(frozen=True)
class Run:
    """One run of a script: wall and CPU seconds of its training, and what was said of it."""

    train_s: float
    cpu_s: float
    diagnosis: Diagnosis


@dataclass(frozen=True)
class Pair:
    """What became of one example."""

    cause: str
    slow: list[Run]
    fixed: list[Run]

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
    def is_inside(self) -> bool:
        """Whether the measured gain lies in the predicted range."""
        gain = self.first.gain if self.first else None
        return gain is not None and gain.low <= self.measured <= gain.high


def main() -> int:
    """Print the table; the exit code says whether every cause was named first."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    names = sorted(path.parent.name for path in EXAMPLES.glob("*/slow.py"))
    pairs = []
    heads = ("example", "named first", "line", "predicted", "likely", "measured", "CPU", "")
    print(ROW.format(*heads))
    for name in names:
        if not options.only or name in options.only:
            pairs.append(measure(name, options.runs))
            print(row(pairs[-1]), flush=True)
    summary(pairs)
    return int(any(pair.first is None or pair.first.cause != pair.cause for pair in pairs))


def measure(name: str, runs: int) -> Pair:
    """Run both scripts of an example in turn."""
    pair = Pair(name, [], [])
    with tempfile.TemporaryDirectory(prefix="quickfit-bench-") as temp:
        for number in range(runs):
            order = [("slow.py", pair.slow), ("fixed.py", pair.fixed)]
            for script, kept in order if number % 2 == 0 else reversed(order):
                kept.append(watched(EXAMPLES / name / script, Path(temp) / f"{number}-{script}"))
    return pair


def watched(script: Path, folder: Path) -> Run:
    """Run a script under quickfit in a folder of its own."""
    folder.mkdir()
    command = [sys.executable, "-m", "quickfit", "run", "--output", "run.qfrun", str(script)]
    subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    recording = reader.read(folder / "run.qfrun")
    return Run(*training_time(recording), diagnose_recording(recording))


def training_time(recording: Recording) -> tuple[float, float]:
    """Return wall and CPU seconds from the first loop's begin to the last loop's end."""
    main = max((recording.main, *recording.others), key=lambda p: len(p.rows("steps")))
    loops, steps = main.rows("loops"), main.rows("steps")
    begin_s = min((row["entered_s"] for row in loops), default=0.0)
    ends = [row["end_s"] for row in (*loops, *steps) if row["end_s"] is not None]
    end_s = max(ends, default=begin_s)
    inside = [row for row in main.rows("machine") if begin_s <= row["at_s"] <= end_s + 1.0]
    cpu_s = inside[-1]["cpu_s"] - inside[0]["cpu_s"] if len(inside) > 1 else math.nan
    return end_s - begin_s, cpu_s


def row(pair: Pair) -> str:
    """Return one line of the table."""
    first = pair.first
    if first is None:
        said = pair.slow[0].diagnosis.headline[:28]
        cells: tuple[str, ...] = (f"({said})", "", "", "")
    else:
        line = str(first.where.line) if first.where else "-"
        gain = first.gain
        cells = (first.cause, line, f"{gain.low:.2f}-{gain.high:.2f}", f"{gain.likely:.2f}")
    left = [f.cause for run in pair.fixed for f in run.diagnosis.findings]
    remark = "" if pair.is_inside else "outside"
    remark += f" fixed.py: {', '.join(sorted(set(left)))}" if left else ""
    return ROW.format(
        pair.cause, *cells, f"{pair.measured:.2f}", f"{pair.measured_cpu:.2f}", remark
    )


def summary(pairs: list[Pair]) -> None:
    """Print how well the predictions held."""
    right = [pair for pair in pairs if pair.first is not None and pair.first.cause == pair.cause]
    inside = [pair for pair in right if pair.is_inside]
    errors = [abs(math.log(p.first.gain.likely / p.measured)) for p in right if p.first]
    print(f"\n{len(right)} of {len(pairs)} named first; {len(inside)} inside the predicted range")
    if errors:
        print(f"median of |log(likely / measured)|: {statistics.median(errors):.2f}")


if __name__ == "__main__":
    sys.exit(main())

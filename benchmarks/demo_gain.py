"""Predicted against measured speed-up of the demo, over several fresh runs.

    python benchmarks/demo_gain.py [--runs 3]

Every run watches slow.py anew and measures a fresh pair of processes; the one that starts
first changes from run to run. A run takes about a minute on two cores.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
from pathlib import Path

from quickfit import units
from quickfit.demo import Outcome, story
from quickfit.demo.story import span

HEAD = ("run", "cause", "predicted", "likely", "measured", "spread", "CPU per step", "inside")
WIDTHS = (5, 22, 14, 9, 10, 9, 18, 7)


def main() -> None:
    """Run the comparison as often as asked, and print one row per run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    story.check_installed()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    with tempfile.TemporaryDirectory(prefix="quickfit-bench-") as home, contextlib.chdir(home):
        story.prepare(sys.stderr)
        outcomes = [run_once(number) for number in range(runs)]
    print(row(HEAD))
    for number, outcome in enumerate(outcomes, start=1):
        print(row(cells(number, outcome)))
    ratios = [outcome.measured.speed_up for outcome in outcomes]
    inside = sum(outcome.is_inside for outcome in outcomes)
    print(
        f"\nmedian measured {statistics.median(ratios):.2f}×"
        f" ({min(ratios):.2f} to {max(ratios):.2f}); {inside} of {runs} inside the predicted range"
    )


def run_once(number: int) -> Outcome:
    """Watch, diagnose and measure once; the script's own output goes to stderr."""
    with script_output_to_stderr():
        diagnosis = story.watch(sys.stderr, recording=Path(f"slow-{number}.qfrun"))
        return story.measure(diagnosis, sys.stderr, fixed_first=number % 2 == 1)


@contextlib.contextmanager
def script_output_to_stderr():
    """Keep stdout for the table alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def cells(number: int, outcome: Outcome) -> tuple[str, ...]:
    """Return one row of the table as text."""
    slow, fixed = outcome.measured.first, outcome.measured.second
    finding = outcome.finding
    return (
        str(number),
        finding.cause if finding else "none found",
        span(finding.gain) if finding else "-",
        f"{finding.gain.likely:.2f}×" if finding else "-",
        f"{outcome.measured.speed_up:.2f}×",
        f"±{outcome.measured.spread:.2f}",
        f"{units.seconds(slow.step_cpu_s)} → {units.seconds(fixed.step_cpu_s)}",
        "yes" if outcome.is_inside else "no",
    )


def row(texts: tuple[str, ...]) -> str:
    """Return texts in columns."""
    return "".join(f"{text:<{width}}" for text, width in zip(texts, WIDTHS, strict=True)).rstrip()


if __name__ == "__main__":
    main()

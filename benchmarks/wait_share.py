"""Three measures of the same thing: how much of a step is spent waiting for input.

    python benchmarks/wait_share.py [--repeats 3] [--quick] [--compute-threads 1]

Three workloads (input-bound, compute-bound, balanced), each in a fresh process under quickfit's
probes. (a) is what quickfit reports, from tf.data's own model of the pipeline. (c) is the sum of
the profiler's `get_next` events, over the steps at the end of the same `fit`; (a) is computed
for exactly those steps as well. (d) trains on with the real input and with one batch kept in
memory, in short alternating blocks: 1 - cached / real. A repeat takes about a minute and a half
on two cores.

(a) and (c) time the same call in two ways, so they should be equal. (d) is independent, and also
holds what the input costs the step without making it wait: the cores that both share. Where
cores are short it comes near `CPU share`, the part of the CPU time per step that goes away with
the input. To keep that small on two cores, the network computes on one thread and the input
decodes on one; `--compute-threads 0` leaves the network all cores, as TensorFlow does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickfit.errors import SignalMissing
from quickfit.recording import reader
from quickfit.signals import Signals
from quickfit.signals import input as inputs
from quickfit.signals.steps import Steps

WORKLOADS = ("input-bound", "compute-bound", "balanced")
CHILD = Path(__file__).with_name("_workloads.py")
# Two measures of one share agree when they differ by no more than this.
AGREE = 0.05
COLUMNS = (
    ("workload", 14),
    ("run", 4),
    ("(a) fit", 9),
    ("(a) win", 9),
    ("(c) win", 9),
    ("a-c", 8),
    ("(d)", 7),
    ("(d) quartiles", 16),
    ("CPU share", 11),
    ("steps", 7),
    ("win", 5),
    ("wall", 7),
    ("CPU", 7),
    ("real", 7),
    ("CPU", 7),
    ("cached", 8),
    ("CPU", 7),
    ("load", 6),
)


@dataclass(frozen=True)
class Outcome:
    """The shares of one run, and what one step took.

    `fit` is (a) over all steps, `window` over the profiled ones. `real_s` and `cached_s` are wall
    and CPU time of one step in the blocks of (d).
    """

    workload: str
    repeat: int
    fit: float
    window: float
    profiler: float
    differential: float
    quartiles: tuple[float, float]
    steps: int
    window_steps: int
    step_s: float
    step_cpu_s: float
    real_s: tuple[float, float]
    cached_s: tuple[float, float]
    load: float

    @property
    def cpu_share(self) -> float:
        """The part of a step's CPU time that the input takes."""
        return 1 - self.cached_s[1] / self.real_s[1]

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table."""
        low, high = self.quartiles
        shares = (self.fit, self.window, self.profiler)
        times = (self.step_s, self.step_cpu_s, *self.real_s, *self.cached_s)
        return (
            self.workload,
            str(self.repeat),
            *(f"{share:.3f}" for share in shares),
            f"{self.window - self.profiler:+.3f}",
            f"{self.differential:.2f}",
            f"{low:.2f} to {high:.2f}",
            f"{self.cpu_share:.2f}",
            str(self.steps),
            str(self.window_steps),
            *(ms(time_s) for time_s in times),
            f"{self.load:.1f}",
        )


def main() -> int:
    """Print the table; the exit code says whether every run was measured and (a) meets (c)."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one repeat")
    parser.add_argument("--compute-threads", type=int, default=1, metavar="N", help="0: all cores")
    options = parser.parse_args()
    repeats = 1 if options.quick else options.repeats
    # Round by round, so that a busy quarter of an hour meets every workload.
    plan = [(name, repeat) for repeat in range(1, repeats + 1) for name in WORKLOADS]
    measured = [run(name, repeat, options.compute_threads) for name, repeat in plan]
    outcomes = [outcome for outcome in measured if outcome is not None]
    outcomes.sort(key=lambda outcome: WORKLOADS.index(outcome.workload))
    print("shares of the step time, and milliseconds per step:")
    print(row(tuple(title for title, _ in COLUMNS)))
    for outcome in outcomes:
        print(row(outcome.cells()))
    print(conclusion(outcomes, missing=len(plan) - len(outcomes)))
    return 0 if len(outcomes) == len(plan) and worst(outcomes) <= AGREE else 1


def run(workload: str, repeat: int, threads: int) -> Outcome | None:
    """Run one workload in a process of its own; None where quickfit could not tell the wait."""
    began, load = time.monotonic(), os.getloadavg()[0]
    show(f"{workload}, repeat {repeat}: fit with the profiler at its end, then blocks ...")
    with tempfile.TemporaryDirectory(prefix="quickfit-bench-") as temp:
        folder = Path(temp) / "wait.qfrun"
        folder.mkdir()
        command = [sys.executable, str(CHILD), workload, str(folder), str(threads)]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
        signals = Signals(reader.read(folder))
        try:
            outcome = compare(workload, repeat, load, signals, json.loads(done.stdout))
        except SignalMissing as missing:
            show(f"    NOT MEASURED, quickfit lacks {missing}: {reasons(signals, done.stderr)}")
            return None
    show(f"    (a) {outcome.fit:.3f}, {time.monotonic() - began:.0f} s, load {load:.1f}")
    return outcome


def compare(
    workload: str, repeat: int, load: float, signals: Signals, measured: dict[str, Any]
) -> Outcome:
    """Compute the three shares from quickfit's recording and from what the child measured.

    Raises:
        SignalMissing: the recording holds no model of the pipeline.
    """
    fit = signals.wait.share
    window, covered = shared_window(signals, measured["window"])
    begin_s, end_s = covered.begin_s, covered.end_s
    waited_s = sum(
        max(min(end, end_s) - max(begin, begin_s), 0.0)
        for begin, end in measured["window"]["requests"]
    )
    blocks = measured["blocks"]
    pairs = zip(blocks["real"], blocks["cached"], strict=True)
    shares = [1 - cached["step_s"] / real["step_s"] for real, cached in pairs]
    real, cached = (
        {part: statistics.median(block[part] for block in blocks[kind]) for part in blocks[kind][0]}
        for kind in ("real", "cached")
    )
    low, _, high = statistics.quantiles(shares, n=4)
    return Outcome(
        workload=workload,
        repeat=repeat,
        fit=fit,
        window=window.share,
        profiler=waited_s / (end_s - begin_s),
        differential=1 - cached["step_s"] / real["step_s"],
        quartiles=(low, high),
        steps=len(signals.steps.steps),
        window_steps=len(covered.steps),
        step_s=signals.steps.mean_s,
        step_cpu_s=signals.machine.cpu_cores * signals.steps.mean_s,
        real_s=(real["step_s"], real["cpu_s"]),
        cached_s=(cached["step_s"], cached["cpu_s"]),
        load=load,
    )


def shared_window(signals: Signals, window: dict[str, Any]) -> tuple[inputs.Wait, Steps]:
    """Return the wait, as quickfit computes it, of steps that were profiled, and those steps.

    quickfit reads the pipeline twice a second, so the first and the last steps of the window
    belong to a reading that began before it or never came; those are left out of both measures.
    """
    loop, spe = signals.loop.id, signals.steps_per_execution
    traced = [
        step
        for step in signals.steps.steps
        if step.end_s - step.cycle_s >= window["begin_s"] and step.end_s <= window["end_s"]
    ]
    steps = Steps(tuple(traced), 0)
    found = inputs.wait_from_pipeline(signals.process, loop, steps, spe, 0.0)
    if found is None:
        raise SignalMissing("readings of the pipeline while the profiler ran")
    last_s = max(
        recent[-1].end_s
        for reading in signals.process.rows("pipelines")
        if len(recent := steps.before(reading["at_s"], max(reading["gaps"], 1))) >= reading["gaps"]
        and recent
    )
    until = [step for step in traced if step.end_s <= last_s]
    covered = until[-found.requests :]
    return found, Steps(tuple(covered), 0)


def reasons(signals: Signals, stderr: str) -> str:
    """Return what the recording and quickfit's own lines say about something missing."""
    notes = [note["text"] for note in signals.process.rows("notes")]
    said = [line for line in stderr.splitlines() if line.startswith("quickfit:")]
    return "; ".join(notes + said) or "nothing was noted"


def worst(outcomes: list[Outcome]) -> float:
    """Return the largest difference between (a) and (c) over the same steps."""
    return max((abs(o.window - o.profiler) for o in outcomes), default=0.0)


def conclusion(outcomes: list[Outcome], *, missing: int) -> str:
    """Return in plain words what agrees and what does not."""
    far = [o for o in outcomes if abs(o.window - o.profiler) > AGREE]
    text = (
        f"Over the same steps, (a) and (c) differ by at most {worst(outcomes):.3f}"
        f" ({len(outcomes) - len(far)} of {len(outcomes)} within {AGREE})."
    )
    for workload in WORKLOADS:
        own = [o for o in outcomes if o.workload == workload]
        if own:
            text += (
                f"\n{workload}: (a) {span([o.fit for o in own])},"
                f" (d) {span([o.differential for o in own])},"
                f" input's share of the CPU time {span([o.cpu_share for o in own])}."
            )
    text += "\nWhere (d) is above (a), the step itself is slower beside a busy input"
    text += " (shared cores and caches are our guess)."
    if missing:
        text += f"\n{missing} of {missing + len(outcomes)} runs gave no share at all; see above."
    return text


def span(shares: list[float]) -> str:
    """Return the smallest and the largest share."""
    return f"{min(shares):.2f} to {max(shares):.2f}"


def ms(seconds: float) -> str:
    """Return a step time in milliseconds."""
    return f"{seconds * 1e3:.1f}"


def row(cells: tuple[str, ...]) -> str:
    """Return one line of the table, columns in line."""
    widths = [width for _, width in COLUMNS]
    padded = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return cells[0].ljust(widths[0]) + "".join(padded)


def show(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

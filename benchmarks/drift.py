"""Trainings that slow down: is the cause named, at which line, and after how many steps?

    python benchmarks/drift.py --scripts [--only TEXT …] [--keep FOLDER | --kept FOLDER]
    python benchmarks/drift.py --stationary 20 [--keep FOLDER]
    python benchmarks/drift.py --simulated 1000000 [--noise FOLDER]

`--scripts` runs `drift/*.py`, each alone and beside a CPU hog that comes and goes in mid-run. What
must be said stands in their header: `# EXPECT cause=<id> file=train.py line=<n>` (`a|b`: either
will do), or `# EXPECT none`. `--stationary` runs trainings of 5,000 steps that do not slow down,
every second one beside such a hog. `--simulated` puts recorded steps together to one long
stationary series with episodes of load and with load that stays, and asks at every look; in these
two no part of a script may be accused. `--keep` keeps the recordings, which `--noise` can take,
and which `--scripts --kept` asks again without running anything.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from _cases import HERE, Case, run
from _noise import Noise, Simulation
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.errors import QuickfitError
from quickfit.findings import Diagnosis, Finding, Severity, Symptom
from quickfit.recording import reader
from quickfit.signals import Signals

CORPUS = HERE.parent / "corpus"
SCRIPTS, STATIONARY = CORPUS / "drift", CORPUS / "stationary"
RECORDINGS = HERE.parent / "tests" / "recordings" / "healthy"
ROW = "{:32} {:8} {:6} {:22} {:14} {:>8}  {}"
_EXPECT = re.compile(r"^# EXPECT (?:none|cause=(\S+) file=(\S+) line=(\d+)(?: also=(\S+))?)", re.M)
# The cause comes first; or second, behind one that costs more.
RIGHT = ("yes", "second")
# When the hog comes and goes, in seconds after the start of the script.
COMES_S, GOES_S = 14.0, 22.0


def main() -> int:
    """Print the tables asked for; the exit code says whether anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scripts", action="store_true")
    parser.add_argument("--stationary", type=int, default=0, metavar="RUNS")
    parser.add_argument("--simulated", type=int, default=0, metavar="STEPS")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--noise", type=Path, default=RECORDINGS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    results: list[bool] = []
    if options.scripts:
        results += scripts(options.only, options.keep, options.kept)
    if options.stationary:
        results += stationary(options.stationary, options.keep, options.only)
    if options.simulated:
        results += simulated(options.simulated, options.noise, options.seed)
    print(f"\n{sum(results)} of {len(results)} right")
    return int(not all(results))


def scripts(only: list[str], keep: Path | None, kept: Path | None) -> list[bool]:
    """Run the scripts that slow down, alone and beside a hog that comes and goes."""
    print(ROW.format("script", "beside", "right", "cause", "line", "at step", "said"))
    results = []
    for script in sorted(SCRIPTS.glob("*.py")):
        case = expected(script)
        if only and not any(text in case.name for text in only):
            continue
        for hogs in (0, os.cpu_count() or 1):
            ran = asked(case, hogs, kept) if kept else tried(case, hogs, keep)
            if ran is None:
                continue
            verdict = judged(case, ran)
            print(row(case.name, hogs, ran, verdict=verdict), flush=True)
            results.append(verdict in RIGHT)
    return results


def expected(script: Path) -> Case:
    """Return a script with what its header says must be said of it."""
    found = _EXPECT.search(script.read_text())
    if found is None:
        raise ValueError(f"{script} has no EXPECT line")
    cause, file, line, also = found.groups()
    place = f"{file}:{line}" if cause else ""
    return Case(script.stem, (script,), cause, place, also=also or "")


def judged(case: Case, ran: Ran) -> str:
    """Say whether the right cause comes first, second, or without its line; `a|b`: either.

    `line` stands for the right cause first, at another line than the one in the header.
    """
    if case.cause is None:
        return "NO" if ran.slowing else "yes"
    told = [f for f in ran.diagnosis.findings if f.severity != Severity.MENTION]
    causes = case.cause.split("|")
    place = next((n for n, finding in enumerate(told) if finding.cause in causes), None)
    if place is None or place > 1:
        return "NO"
    where = told[place].where
    if where is None or where.short not in (case.place, case.also or case.place):
        return "line" if place == 0 else "NO"
    return "yes" if place == 0 else "second"


@dataclass(frozen=True)
class Ran:
    """What was said of one run, and the step at which that was certain."""

    diagnosis: Diagnosis
    certain_at: int | None

    @property
    def slowing(self) -> list[Finding]:
        """What is said to make it slower and slower."""
        found = self.diagnosis.findings
        return [f for f in found if f.symptom == Symptom.SLOWING_DOWN and not f.is_of_machine]


def tried(case: Case, hogs: int, keep: Path | None) -> Ran:
    """Run one script and say what is said of it."""
    with tempfile.TemporaryDirectory(prefix="quickfit-bench-") as temp:
        with coming_and_going(hogs):
            recorded = run(case, Path(temp))
        recording = reader.read(recorded)
        with contextlib.suppress(QuickfitError):
            slow = Signals(recording).slowdown
            if keep is not None:
                name = f"{kept_name(case, hogs)}.{os.getpid()}.{id(slow)}"
                shutil.copytree(recorded, keep / name / "run.qfrun")
            return Ran(diagnose_recording(recording), slow.certain_at if slow else None)
        return Ran(diagnose_recording(recording), None)


def kept_name(case: Case, hogs: int) -> str:
    """Return how the folders of a kept run begin."""
    return f"{case.name}.{'hog' if hogs else 'alone'}"


def asked(case: Case, hogs: int, kept: Path) -> Ran | None:
    """Say what is said of a run that was kept; of several the newest."""
    found = list(kept.glob(f"{kept_name(case, hogs)}.*/run.qfrun"))
    if not found:
        return None
    recording = reader.read(max(found, key=lambda path: path.stat().st_mtime))
    slow = Signals(recording).slowdown
    return Ran(diagnose_recording(recording), slow.certain_at if slow else None)


@contextlib.contextmanager
def coming_and_going(count: int) -> Iterator[None]:
    """Keep some cores busy for a while in the middle of what runs meanwhile."""
    over = threading.Event()

    def hog() -> None:
        if over.wait(COMES_S):
            return
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
        over.wait(GOES_S - COMES_S)
        for process in busy:
            process.kill()
            process.wait()

    thread = threading.Thread(target=hog)
    if count:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if count:
            thread.join()


def row(name: str, hogs: int, ran: Ran, *, verdict: str) -> str:
    """Return one line of a table."""
    first = ran.diagnosis.findings[0] if ran.diagnosis.findings else None
    place = first.where.short if first is not None and first.where is not None else ""
    said = ran.diagnosis.headline[:110]
    step = str(ran.certain_at or "")
    return ROW.format(
        name, "a hog" if hogs else "nothing", verdict,
        first.cause if first else "-", place, step, said,
    )  # fmt: skip


def stationary(runs: int, keep: Path | None, only: list[str]) -> list[bool]:
    """Run trainings that do not slow down: nothing may be said to grow."""
    print(ROW.format("script", "beside", "right", "cause", "line", "at step", "said"))
    found = sorted(STATIONARY.glob("*.py"))
    chosen = [s for s in found if not only or any(text in s.stem for text in only)]
    results = []
    for number in range(runs):
        script = chosen[number // 2 % len(chosen)]
        hogs = (number % 2) * (os.cpu_count() or 1)
        ran = tried(Case(script.stem, (script,)), hogs, keep)
        results.append(not ran.slowing)
        verdict = "yes" if results[-1] else "NO"
        print(row(script.stem, hogs, ran, verdict=verdict), flush=True)
    return results


def simulated(steps: int, folder: Path, seed: int) -> list[bool]:
    """Ask at every look of long series of recorded steps: nobody may be accused."""
    results = []
    with tempfile.TemporaryDirectory(prefix="quickfit-noise-") as temp:
        for name, quiet, loaded in pairs(folder, Path(temp)):
            simulation = Simulation(quiet, loaded, random.Random(f"{seed} {name}"))
            asked = simulation.ask(steps)
            wrong = [claim for claim in asked if claim.why == "part"]
            others = {why: sum(c.why == why for c in asked) for why in ("machine", "unknown")}
            results.append(not wrong)
            print(
                f"{name:32} {steps:>9,} steps, {simulation.looks} looks: {len(wrong)} false claims;"
                f" by the machine's load {others['machine']}, cause unknown {others['unknown']}"
                + "".join(f"\n    {c.part} {c.share:.2f} at {c.certain_at:,}" for c in wrong[:3]),
                flush=True,
            )
    return results


def pairs(folder: Path, temp: Path) -> Iterator[tuple[str, list[Noise], list[Noise]]]:
    """Yield recorded noise by script: that of its quiet runs, and that of those beside a hog."""
    for archive in sorted(folder.glob("*.tar.xz")):
        with tarfile.open(archive) as packed:
            packed.extractall(temp / archive.name.removesuffix(".tar.xz"), filter="data")
    runs: dict[str, dict[str, list[Noise]]] = {}
    for path in sorted([*folder.glob("*/run.qfrun"), *temp.glob("*/run.qfrun")]):
        script, beside = path.parent.name.split(".")[:2]
        runs.setdefault(script, {"alone": [], "hog": []})[beside].append(Noise.of(path))
    for script, found in runs.items():
        if found["alone"] and found["hog"]:
            yield script, found["alone"], found["hog"]


if __name__ == "__main__":
    sys.exit(main())

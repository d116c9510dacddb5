"""Every style of training loop × every ending × every way to watch: is there a true report?

    python benchmarks/endings.py [--style eager …] [--ending ctrl-c …] [--tool run …]

Each cell is one real script (`tests/scripts/endings/train.py`) that trains in one style and is
ended in one way. A cell passes when the script ends with its own exit code or signal, its recording
can be read and holds the steps that were seen, in order, and the report says nothing false of them.
A Ctrl-C is typed on a real terminal; `kill -9` hits the script, not quickfit. Under `Watch` the
limits `--steps` and `--for` are those of a `quickfit run` around it.

It takes about 20 minutes; `tests/test_endings_real.py` runs a part that has every pair.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import io
import itertools
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import termios
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from quickfit.diagnosis import diagnose
from quickfit.errors import QuickfitError
from quickfit.recording import reader
from quickfit.report.to_terminal import write_report

SCRIPT = Path(__file__).resolve().parents[1] / "tests" / "scripts" / "endings" / "train.py"
TRAINING = ("fit", "eager", "function", "train_on_batch", "elsewhere")
STYLES = (*TRAINING, "predict", "evaluate")
TOOLS = ("run", "memory", "watch")
# What the script is told, and how it must end.
ENDINGS = {
    "normal": ("normal", 0),
    "raise": ("raise", 1),
    "exit": ("exit", 3),
    "ctrl-c": ("forever", -signal.SIGINT),
    "sigterm": ("forever", -signal.SIGTERM),
    "kill": ("forever", -signal.SIGKILL),
    "steps": ("forever", 0),
    "for": ("forever", 0),
}
# As in the script.
STEPS, ENDS_AT = 40, 25
LIMIT_STEPS, LIMIT_TIME = 30, "5s"
PATIENCE_S = 400.0
# What no report may say of these runs, and of those that train.
FALSE = (
    "damaged",
    "no step ended",
    "no training loop was seen",
    "left out of the recording",
    "could not be made",
    "bug in quickfit",
    "has not reacted",
    "still runs",
)
FALSE_OF_TRAINING = ("no training step",)


class Cell(NamedTuple):
    """One run: what trains, how it ends, who watches."""

    style: str
    ending: str
    tool: str

    @property
    def turn(self) -> int:
        """One of three parts of the table; each part has every pair of style, ending and tool."""
        places = (STYLES.index(self.style), [*ENDINGS].index(self.ending), TOOLS.index(self.tool))
        return sum(places) % 3

    @property
    def script_arguments(self) -> list[str]:
        """What the script is told."""
        kind = ENDINGS[self.ending][0]
        if self.ending == "steps" and self.style not in TRAINING:
            kind = "normal"  # `--steps` counts training steps: such a loop runs to its end
        return [self.style, kind]

    @property
    def exit_code(self) -> int:
        """How it must end, as `subprocess` says it."""
        return ENDINGS[self.ending][1]

    @property
    def is_run(self) -> bool:
        """Whether `quickfit run` is there to print a report."""
        return self.tool != "watch" or self.ending in ("steps", "for")


@dataclass
class Outcome:
    """What came of a run."""

    exit_code: int | None
    stdout: str
    stderr: str
    folder: Path
    # On disk when the signal was sent.
    steps_before: int = 0
    faults: list[str] = field(default_factory=list)


def command(cell: Cell, folder: Path) -> list[str]:
    """Return the command line of a cell."""
    script = [str(SCRIPT), *cell.script_arguments]
    if cell.tool == "watch":
        script += ["--watch", str(folder)]
    if not cell.is_run:
        return [sys.executable, *script]
    options = ["--output", str(folder)]
    options += ["--memory"] if cell.tool == "memory" else []
    options += ["--steps", str(LIMIT_STEPS)] if cell.ending == "steps" else []
    options += ["--for", LIMIT_TIME] if cell.ending == "for" else []
    return [sys.executable, "-m", "quickfit", "run", *options, *script]


def run_cell(cell: Cell, place: Path) -> Outcome:
    """Run a cell below a folder and note what is wrong with it."""
    folder = place / f"{cell.style}-{cell.ending}-{cell.tool}.qfrun"
    env = {name: text for name, text in os.environ.items() if not name.startswith("QUICKFIT_")}
    env |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    ours, theirs = pty.openpty()
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            command(cell, folder),
            cwd=place,
            env=env,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        try:
            shown, steps = _end(cell, process, folder, ours)
            stdout = shown + process.communicate(timeout=PATIENCE_S)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, steps = b"", 0
            process.communicate()
        finally:
            os.close(ours)
        stderr.seek(0)
        said = stderr.read().decode(errors="replace")
    outcome = Outcome(process.returncode, stdout.decode(errors="replace"), said, folder, steps)
    outcome.faults = list(faults(cell, outcome))
    return outcome


def _end(
    cell: Cell, process: subprocess.Popen[bytes], folder: Path, keyboard: int
) -> tuple[bytes, int]:
    """Send the signal of a cell when its steps are on disk; return what was printed, and those."""
    if cell.ending not in ("ctrl-c", "sigterm", "kill"):
        return b"", 0
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(rb"pid (\d+)", line)
    if found is None:
        return line, 0
    steps = _wait_for_steps(folder, process)
    if cell.ending == "ctrl-c":
        os.write(keyboard, b"\x03")
    elif cell.ending == "sigterm":
        process.send_signal(signal.SIGTERM)
    else:
        os.kill(int(found[1]), signal.SIGKILL)
    return line, steps


def _wait_for_steps(folder: Path, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        for file in folder.glob("*.sqlite"):
            with contextlib.suppress(sqlite3.Error):
                with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as db:
                    steps = db.execute("SELECT count(*) FROM steps").fetchone()[0]
                if steps:
                    return int(steps)
        time.sleep(0.05)
    return 0


def faults(cell: Cell, outcome: Outcome) -> Iterable[str]:
    """Yield what is wrong with a run."""
    if outcome.exit_code != cell.exit_code:
        yield f"exit code {outcome.exit_code}, not {cell.exit_code}"
    try:
        recording = reader.read(outcome.folder)
        report = io.StringIO()
        write_report(diagnose(outcome.folder), report)
    except QuickfitError as error:
        yield str(error).splitlines()[0]
        return
    yield from step_faults(cell, recording.main.rows("steps"), outcome.steps_before)
    if recording.problems:
        yield f"problems: {recording.problems[0]}"
    shown = outcome.stderr if cell.is_run else report.getvalue()
    yield from report_faults(shown, cell.style)
    if cell.is_run and (text := first_false(report.getvalue(), cell.style)):
        yield f"`quickfit report` says: {text}"


def step_faults(cell: Cell, rows: list[dict[str, Any]], at_least: int) -> Iterable[str]:
    """Yield what is wrong with the steps of a run of one style."""
    by_loop = Counter(row["loop"] for row in rows)
    steps = max(by_loop.values(), default=0)
    expected = {
        "normal": (STEPS, STEPS),
        "raise": (ENDS_AT - 1, ENDS_AT),
        "exit": (ENDS_AT - 1, ENDS_AT),
        "steps": (LIMIT_STEPS, LIMIT_STEPS + 1),
        "for": (1, sys.maxsize),
    }
    low, high = expected.get(cell.ending, (max(at_least, 1), sys.maxsize))
    if cell.ending == "steps" and cell.style not in TRAINING:
        low = high = STEPS
    if not low <= steps <= high:
        yield f"{steps} steps, not {low} to {high}"
    for loop in by_loop:
        numbers = [row["step"] for row in rows if row["loop"] == loop]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            yield f"the steps of loop {loop} are out of order"


def report_faults(text: str, style: str) -> Iterable[str]:
    """Yield what is wrong with the report of a run that ended in one style of loop."""
    if not re.search(r"^device ", text, re.M) or not re.search(r"^verdict ", text, re.M):
        yield "no report"
    if said := first_false(text, style):
        yield f"the report says: {said}"


def first_false(text: str, style: str) -> str:
    """Return the first line with something that is not true of these runs."""
    false = (*FALSE, *FALSE_OF_TRAINING) if style in TRAINING else FALSE
    lines = (line for line in text.splitlines() if any(part in line for part in false))
    return next(lines, "")


def main() -> None:
    """Run the table and print it."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--style", nargs="+", choices=STYLES, default=STYLES)
    options.add_argument("--ending", nargs="+", choices=ENDINGS, default=tuple(ENDINGS))
    options.add_argument("--tool", nargs="+", choices=TOOLS, default=TOOLS)
    chosen = options.parse_args()
    cells = [Cell(*names) for names in itertools.product(chosen.style, chosen.ending, chosen.tool)]
    cells.sort(key=lambda cell: cell.turn)  # every pair is seen after a third of the time
    # A shell has what it starts in the background ignore Ctrl-C, and that is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    passed = 0
    with tempfile.TemporaryDirectory(prefix="quickfit-endings-") as place:
        for cell in cells:
            began_s = time.monotonic()
            outcome = run_cell(cell, Path(place))
            passed += not outcome.faults
            said = "; ".join(outcome.faults) or "passed"
            took_s = time.monotonic() - began_s
            print(
                f"{cell.style:15} {cell.ending:8} {cell.tool:7} {took_s:5.1f} s  {said}", flush=True
            )
    print(f"{passed} of {len(cells)} passed")
    sys.exit(passed != len(cells))


if __name__ == "__main__":
    main()

"""Stuck scripts and their slow-but-moving twins: is the reason named, where, and how soon?

    python benchmarks/stuck.py [--only NAME …] [--jobs 2] [--limit 20] [--keep FOLDER]

Each script of `corpus/stuck` is run by `quickfit run --stuck-after LIMIT` for a minute, with a
stdin that stays open and says nothing, and is then interrupted. A header says what is expected:

    # EXPECT stuck=<cause> line=<number>      and also=<numbers> where others are as guilty
    # EXPECT moving                           a twin: it may not be called stuck

The table has what was said, at which line, and after how many seconds: the phase is to come within
10 s of silence, the verdict within the limit and 5 s. Times count from the start of the script, or
from its last sign of life.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parents[1] / "corpus" / "stuck"
ROW = "{:34} {:26} {:26} {:>9} {:>7} {:>8} {}"
# A stuck script is interrupted after this long; a twin may take longer to end by itself.
STUCK_S, TWIN_S = 75.0, 110.0
_EXPECT = re.compile(r"^# EXPECT (?:stuck=(\S+) line=(\d+)(?: also=([\d,]+))?|moving)", re.M)
_VERDICT = re.compile(r"(?:— \S+?:(\d+) )?\(([a-z][a-z0-9-]+)\)$")
_NOT_A_PHASE = ("watching ", "stuck: ", "early ", "moving again", "process ", "the script ")


@dataclass
class Seen:
    """What quickfit said of one script, with the seconds since its start."""

    said: list[tuple[float, str]] = field(default_factory=list)
    code: int | None = None

    @property
    def verdict(self) -> tuple[float, str, int] | None:
        """When a cause was named, which, and at which line."""
        for at_s, text in self.said:
            found = _VERDICT.search(text)
            if found and "explain" not in text:
                return at_s, found[2], int(found[1] or 0)
        return None

    @property
    def phase_s(self) -> float | None:
        """When a phase was told first."""
        told = (at for at, text in self.said if not text.startswith(_NOT_A_PHASE))
        return next(told, None)

    @property
    def is_called_stuck(self) -> bool:
        """Whether it was called stuck, or quiet for no known reason."""
        return any(text.startswith(("stuck:", "quiet, cause")) for _, text in self.said)


def main() -> int:
    """Print the table; return 1 if anything was said that is not so."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--folder", type=Path, default=HERE)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    scripts = sorted(options.folder.glob("*.py"))
    chosen = [s for s in scripts if not options.only or s.stem in options.only]
    print(ROW.format("script", "expected", "said", "line", "phase", "verdict", ""), flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        rights = list(pool.map(lambda script: one(script, options), chosen))
    print(f"\n{sum(rights)} of {len(rights)} right")
    return 0 if all(rights) else 1


def one(script: Path, options: argparse.Namespace) -> bool:
    """Run one script, print its row, tell whether what was said is right."""
    expected = _EXPECT.search(script.read_text())
    if expected is None:
        raise SystemExit(f"{script} has no EXPECT line")
    cause, line, also = expected.groups()
    with tempfile.TemporaryDirectory(prefix="quickfit-stuck-") as folder:
        seen = run(script, Path(folder), options.limit, STUCK_S if cause else TWIN_S)
        if options.keep:
            shutil.copytree(Path(folder) / "run.qfrun", options.keep / script.stem)
    found = seen.verdict
    is_named = found is not None and found[1] == cause
    is_placed = found is not None and str(found[2]) in (line, *(also or "").split(","))
    right = (is_named and is_placed) if cause else not seen.is_called_stuck
    said = found[1] if found else "quiet" if seen.is_called_stuck else "-"
    shown_line = f"{found[2]}/{line}" if found and cause else str(found[2]) if found else ""
    times = [f"{at:.0f} s" if at is not None else "-" for at in (seen.phase_s, found and found[0])]
    mark = "" if right else "WRONG"
    print(ROW.format(script.stem, cause or "moving", said, shown_line, *times, mark), flush=True)
    return right


def run(script: Path, folder: Path, limit_s: int, patience_s: float) -> Seen:
    """Run a script under quickfit and note what it says, and when."""
    shutil.copy(script, folder / script.name)
    command = [sys.executable, "-m", "quickfit", "run", "--stuck-after", f"{limit_s}s"]
    command += ["--output", str(folder / "run.qfrun"), script.name]
    reader, writer = os.pipe()  # nobody types, and nobody closes it
    seen, began_s = Seen(), time.monotonic()
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=reader,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
    ) as process:
        with ThreadPoolExecutor(1) as pool:
            ended = pool.submit(end, process, patience_s)
            for line in process.stderr or ():
                if line.startswith("quickfit: "):
                    text = line.removeprefix("quickfit: ").strip()
                    seen.said.append((time.monotonic() - began_s, text))
            ended.result()
        seen.code = process.wait()
    os.close(reader)
    os.close(writer)
    return seen


def end(process: subprocess.Popen[str], patience_s: float) -> None:
    """Let a script run for a while, then end it and all it started."""
    for number, wait_s in ((signal.SIGINT, patience_s), (signal.SIGKILL, 8.0)):
        try:
            process.wait(wait_s)
            return
        except subprocess.TimeoutExpired:
            for pid in [*below(process.pid), process.pid]:
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    continue


def below(pid: int) -> Iterator[int]:
    """Yield the processes below one, the deepest first."""
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            told = tasks.read_text()
        except OSError:
            continue
        for child in map(int, told.split()):
            yield from below(child)
            yield child


if __name__ == "__main__":
    raise SystemExit(main())

"""Short and unusual scripts written without sight of the code: what is concluded, and is it true?

    python benchmarks/short.py [FOLDER] [--only NAME …] [--tree SRC] [--keep FOLDER]

FOLDER has `expected.json`: for each script its arguments, whether it is healthy, the intended
problem and every line that an expert would accept (default: `corpus/short`). Each script is run
by itself under `quickfit run`. Counted are: a conclusion was reached (a finding, or
"compute-bound"), the first finding is at an accepted line, the symptom fits (memory for memory),
nothing is said of a healthy one. What the first finding is called is printed for a person to
judge. `--tree` runs another checkout's code, for a comparison; `--keep` keeps the recordings.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).resolve().parents[1] / "corpus" / "short"
ROW = "{:26} {:14} {:28} {:24} {:5} {}"


@dataclass(frozen=True)
class Judged:
    """What was said of one script, and whether it was right."""

    is_healthy: bool
    is_concluded: bool
    is_placed: bool
    is_exact: bool
    is_accused: bool


def main() -> int:
    """Print a line per script and the counts."""
    options = arguments()
    cases = json.loads((options.folder / "expected.json").read_text())
    if options.only:
        cases = [case for case in cases if any(name in case["script"] for name in options.only)]
    print(ROW.format("script", "verdict", "first finding", "place", "line", "headline"))
    judged = [judge(case, options) for case in cases]
    slow = [one for one in judged if not one.is_healthy]
    healthy = [one for one in judged if one.is_healthy]
    print(
        f"\nconcluded {sum(one.is_concluded for one in judged)} of {len(judged)}, "
        f"first finding at an accepted line {sum(one.is_placed for one in slow)} of {len(slow)} "
        f"(the best one {sum(one.is_exact for one in slow)}), "
        f"healthy ones accused {sum(one.is_accused for one in healthy)} of {len(healthy)}"
    )
    return 0


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=CORPUS)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--tree", type=Path, help="the `src` of another checkout")
    parser.add_argument("--keep", type=Path, help="where the recordings are kept")
    return parser.parse_args()


def judge(case: dict[str, Any], options: argparse.Namespace) -> Judged:
    """Run one script, print its line and return what it was worth."""
    script = (options.folder / case["script"]).resolve()
    with tempfile.TemporaryDirectory() as temp:
        keep = options.keep or Path(temp)
        keep.mkdir(parents=True, exist_ok=True)
        name = case["script"].removesuffix(".py").replace("/", "-")
        run = (keep / f"{name}.qfrun").resolve()
        report = diagnose(script, [str(arg) for arg in case.get("args") or ()], run, case, options)
    told = [
        finding
        for finding in report["findings"]
        if finding["severity"] != "mention" and finding["cause"] != "busy-machine"
    ]
    first = told[0] if told else None
    place = first["where"] if first else None
    where = (Path(place["file"]).name, place["line"]) if place else ("", 0)
    accepted = [(Path(file).name, line) for file, line in case.get("lines") or ()]
    is_placed = first is not None and where in accepted
    is_exact = first is not None and where in accepted[:1]
    is_concluded = report["verdict"] in ("findings", "compute-bound", "nothing-large", "stuck")
    mark = "ok" if (not told if case["healthy"] else is_placed) else "-"
    mark += "=" if is_exact else ""
    shown = (case["script"], report["verdict"], first["cause"] if first else "")
    print(
        ROW.format(*shown, f"{where[0]}:{where[1]}" if first else "", mark, report["headline"]),
        flush=True,
    )
    return Judged(case["healthy"], is_concluded, is_placed, is_exact, bool(told))


def diagnose(
    script: Path, args: list[str], run: Path, case: dict[str, Any], options: argparse.Namespace
) -> dict[str, Any]:
    """Run a script under quickfit, where it was not run yet, and return its report."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    if options.tree is not None:
        environment["PYTHONPATH"] = str(options.tree.resolve())
    if not run.exists():
        if case.get("prepare"):
            prepare = shlex.split(str(case["prepare"]))
            prepare = [sys.executable, *prepare] if prepare[0].endswith(".py") else prepare
            subprocess.run(prepare, cwd=script.parent, check=False, capture_output=True)
        command = [
            sys.executable,
            "-m",
            "quickfit",
            "run",
            "--output",
            str(run),
            str(script),
            *args,
        ]
        subprocess.run(
            command, cwd=script.parent, env=environment, capture_output=True, check=False
        )
    command = [sys.executable, "-m", "quickfit", "report", str(run), "--format", "json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"verdict": "no report", "headline": done.stderr.strip(), "findings": []}
    report: dict[str, Any] = json.loads(done.stdout)
    return report


if __name__ == "__main__":
    sys.exit(main())

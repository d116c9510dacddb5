"""`quickfit check`: is what others wrote judged rightly, and how fast are large trees read?

    python benchmarks/check.py --scripts [--only TEXT …]
    python benchmarks/check.py --trees NAME-OR-PATH … [--sample 20]

`--scripts` reads `check/*`: scripts, notebooks and folders of several files by people who had not
seen the code, with faults and without. What must be said stands in their header: `# EXPECT <cause>
line=<n>` (with `file=<name>` in a folder, `cell=<n>` in a notebook; `a|b`: either will do) once for
each fault, or `# EXPECT none`. A finding beyond these counts as a false one, and so does a fault
that is not found. `--trees` reads installed packages (by the name they are imported by) or folders,
and prints time, CPU time, findings, and a random sample of them to be judged by hand.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASES = Path(__file__).parents[1] / "corpus" / "check"
_EXPECT = re.compile(r"# EXPECT (\S+)((?:[ \t]+\w+=\S+)*)")
ROW = "{:36} {:8} {}"


@dataclass(frozen=True)
class Place:
    """A cause at a line; `file` is its name alone, `cell` is 0 outside of notebooks."""

    cause: str
    file: str
    line: int
    cell: int = 0

    def __str__(self) -> str:
        cell = f":cell {self.cell}" if self.cell else ""
        return f"{self.cause} {self.file}{cell}:{self.line}"


def main() -> int:
    """Print the tables asked for; the exit code says whether anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scripts", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--cases", type=Path, default=CASES)
    parser.add_argument("--trees", nargs="*", default=[])
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    is_right = scripts(options.cases, options.only) if options.scripts else True
    for name in options.trees:
        tree(name, options.sample, options.seed)
    return int(not is_right)


def scripts(folder: Path, only: list[str]) -> bool:
    """Check every case, and print what was missed and what was said beyond what is there."""
    counts: Counter[str] = Counter()
    print(ROW.format("case", "", "missed or said beyond"))
    for case in sorted(folder.iterdir()):
        if case.name.startswith((".", "_")) or (only and not any(t in case.name for t in only)):
            continue
        wanted, told = expected(case), said(case)
        missed = [place for place in wanted if not any(_fits(place, one) for one in told)]
        beyond = [one for one in told if not any(_fits(place, one) for place in wanted)]
        counts.update(faults=len(wanted), missed=len(missed), beyond=len(beyond))
        counts["healthy" if not wanted else "faulty"] += 1
        counts["accused"] += bool(not wanted and beyond)
        notes = [f"missed {p}" for p in missed] + [f"BEYOND {p}" for p in beyond]
        print(ROW.format(case.name, "ok" if not notes else "NO", "; ".join(notes)), flush=True)
    found = counts["faults"] - counts["missed"]
    print(
        f"\n{found} of {counts['faults']} faults found at their line in {counts['faulty']} cases;"
        f" {counts['beyond']} said beyond them;"
        f" {counts['accused']} of {counts['healthy']} healthy cases accused"
    )
    return not counts["missed"] and not counts["beyond"]


def expected(case: Path) -> list[Place]:
    """Return what the headers of a case say."""
    files = sorted(case.rglob("*.py")) if case.is_dir() else [case]
    if case.is_dir():
        files += sorted(case.rglob("*.ipynb"))
    found = []
    for file in files:
        for cause, rest in _EXPECT.findall(_text(file)):
            facts = dict(re.findall(r"(\w+)=(\S+)", rest))
            if cause != "none":
                name = Path(facts.get("file", file.name)).name
                line, cell = int(facts["line"]), int(facts.get("cell", 0))
                found.append(Place(cause, name, line, cell))
    return found


def _text(file: Path) -> str:
    if file.suffix != ".ipynb":
        return file.read_text()
    cells = json.loads(file.read_text())["cells"]
    sources = [c["source"] for c in cells if c["cell_type"] == "code"]
    return "\n".join(s if isinstance(s, str) else "".join(s) for s in sources)


def said(case: Path) -> list[Place]:
    """Return what `quickfit check` says of a case."""
    told = checked([str(case)])
    if told["errors"]:
        print(f"    {told['errors']}")
    return [
        Place(f["cause"], Path(w["file"]).name, w["line"], w["cell"] or 0)
        for f in told["findings"]
        for w in (f["where"],)
    ]


def _fits(wanted: Place, one: Place) -> bool:
    same = (wanted.file, wanted.line, wanted.cell) == (one.file, one.line, one.cell)
    return same and one.cause in wanted.cause.split("|")


def checked(paths: list[str], *more: str) -> dict[str, Any]:
    """Return what the command prints as JSON."""
    command = [sys.executable, "-m", "quickfit", "check", "--isolated", "--format", "json"]
    ran = subprocess.run([*command, *more, *paths], capture_output=True, text=True, check=False)
    if ran.returncode not in (0, 1, 2) or not ran.stdout.startswith("{"):
        raise RuntimeError(ran.stderr)
    if ran.stderr.strip():
        print(ran.stderr.strip()[:2000], file=sys.stderr)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def tree(name: str, sample: int, seed: int) -> None:
    """Print how long a tree takes, what is found in it, and a sample."""
    folder = _folder(name)
    files = sum(1 for _ in folder.rglob("*.py"))
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    told = checked([str(folder)])
    wall_s, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    causes = Counter(finding["cause"] for finding in told["findings"])
    print(
        f"{name}: {files:,} files in {wall_s:.1f} s ({cpu_s:.1f} s of CPU time,"
        f" {1000 * wall_s / max(files, 1):.1f} s for 1,000), {sum(causes.values())} findings,"
        f" {len(told['errors'])} files that do not parse: {dict(causes.most_common())}"
    )
    chosen = random.Random(seed).sample(told["findings"], min(sample, len(told["findings"])))
    for finding in chosen:
        where = finding["where"]
        place = f"{os.path.relpath(where['file'], folder)}:{where['line']}"
        print(f"    {place} {finding['cause']}: {finding['summary']}")


def _folder(name: str) -> Path:
    if Path(name).exists():
        return Path(name).resolve()
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{name}: no such folder or package")
    return Path(next(iter(spec.submodule_search_locations))).resolve()


if __name__ == "__main__":
    sys.exit(main())

"""The scripts that quickfit is judged by, and how one is run and its recording kept.

- `corpus/pairs/<cause>/slow.py`: the guilty line is the one with the text in `lines.json` there.
- `corpus/variants/<cause>/<variant>/train.py`: the same cause in other people's clothes,
  written without sight of the detectors. A header says which line is guilty:
  `# EXPECT cause=<id> file=<name> line=<number>`, and `also=<name>:<number>` where two lines are
  equally guilty: the map and what it calls, or a function and its caller.
- `corpus/combined/*.py`: two causes at once, `# EXPECT first=… file=… line=… second=…`.
- `corpus/healthy/*.py`: nothing is to be found.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from quickfit.findings import Diagnosis

HERE = Path(__file__).parent
CORPUS = HERE.parent / "corpus"
PAIRS, VARIANTS = CORPUS / "pairs", CORPUS / "variants"
COMBINED, HEALTHY = CORPUS / "combined", CORPUS / "healthy"
SCRIPT = "train.py"
_EXPECT = re.compile(
    r"^# EXPECT (?:cause|first)=(\S+) file=(\S+) line=(\d+)(?: second=(\S+))?(?: also=(\S+))?",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Case:
    """One script, and what must be said of it: a cause at a line, or nothing."""

    name: str
    files: tuple[Path, ...]  # the script first
    cause: str | None = None
    place: str = ""
    second: str = ""
    also: str = ""  # another line that a person may well call guilty

    def is_named(self, diagnosis: Diagnosis) -> bool:
        """Tell whether the right cause comes first; of a healthy script, whether none comes."""
        if self.cause is None:
            return not told(diagnosis)
        return [finding.cause for finding in diagnosis.findings[:1]] == [self.cause]

    def is_placed(self, diagnosis: Diagnosis) -> bool:
        """Tell whether the first finding is at the guilty line."""
        where = diagnosis.findings[0].where if diagnosis.findings else None
        return (where.short if where else "") in (self.place, self.also or self.place)


def told(diagnosis: Diagnosis) -> list[str]:
    """Return the causes that were found in a script; a busy machine is not its doing."""
    return [f.cause for f in diagnosis.findings if not f.is_of_machine]


def pairs() -> Iterator[Case]:
    """Yield the slow script of every pair."""
    guilty = json.loads((PAIRS / "lines.json").read_text())
    for cause, text in sorted(guilty.items()):
        script = PAIRS / cause / "slow.py"
        lines = script.read_text().splitlines()
        found = [number for number, code in enumerate(lines, 1) if text and text in code]
        yield Case(cause, (script,), cause, f"{SCRIPT}:{found[0]}" if found else "")


def variants() -> Iterator[Case]:
    """Yield every variant, by cause, and the scripts with two causes."""
    for script in sorted(VARIANTS.glob(f"*/*/{SCRIPT}")):
        others = sorted(path for path in script.parent.glob("*.py") if path != script)
        yield _expected(f"{script.parent.parent.name}.{script.parent.name}", script, *others)
    for script in sorted(COMBINED.glob("*.py")):
        yield _expected(f"combined.{script.stem}", script)


def _expected(name: str, script: Path, *others: Path) -> Case:
    expected = _EXPECT.search(script.read_text())
    if expected is None:
        raise ValueError(f"{script} has no EXPECT line")
    cause, file, line, second, also = expected.groups()
    return Case(name, (script, *others), cause, f"{file}:{line}", second or "", also or "")


def healthy() -> Iterator[Case]:
    """Yield the scripts on which nothing is to be found."""
    for script in sorted(HEALTHY.glob("*.py")):
        yield Case(script.stem, (script,))


def run(case: Case, folder: Path, *, limit_s: float = 240.0) -> Path:
    """Run a script under quickfit in an empty folder; return the recording."""
    work, kept = folder / "work", folder / "run.qfrun"
    work.mkdir(parents=True)
    for number, path in enumerate(case.files):
        shutil.copy(path, work / (SCRIPT if number == 0 else path.name))
    command = [sys.executable, "-m", "quickfit", "run", "--for", f"{limit_s:.0f}s"]
    subprocess.run(
        [*command, "--output", str(kept), SCRIPT],
        cwd=work,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return kept


def pack(recording: Path, target: Path) -> None:
    """Keep a recording as a small archive without the folders of this machine in it."""
    folder = recording.parent / target.name.partition(".tar")[0]
    folder.mkdir()
    places = {
        str(recording.parent / "work"): "/home/user",
        str(HERE.parent / "src"): "/usr",
        sys.prefix: "/usr",
        sys.base_prefix: "/usr",
    }
    for source in recording.glob("*.sqlite"):
        _rewrite(source, folder / source.name, places)
    run = json.loads((recording / "run.json").read_text())
    names = ("exit_code", "signal", "quiet", "announced")
    kept = {"script": SCRIPT, **{name: run[name] for name in names if name in run}}
    told = json.dumps(kept)
    for before, after in places.items():
        told = told.replace(before, after)
    (folder / "run.json").write_text(told + "\n")
    target.parent.mkdir(exist_ok=True)
    with tarfile.open(target, "w:xz") as archive:
        archive.add(folder, "run.qfrun")


def _rewrite(source: Path, target: Path, places: dict[str, str]) -> None:
    """Copy a recording's file with folders replaced."""
    db = sqlite3.connect(source)
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    for table in tables:
        columns = [c[1] for c in db.execute(f"PRAGMA table_info({table})") if c[2] == "TEXT"]
        for column in columns:
            for before, after in places.items():
                db.execute(
                    f"UPDATE OR REPLACE {table} SET {column} = replace({column}, ?, ?)",
                    (before, after),
                )
    db.commit()
    db.execute("VACUUM INTO ?", (str(target),))
    db.close()

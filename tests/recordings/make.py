"""Makes the recordings that the tests replay, by running real scripts under quickfit.

    python tests/recordings/make.py [NAME ...]

Each is the `slow.py` or `fixed.py` of an example, run in a folder of its own so that no path of
this machine gets into the repo. Look at what comes out before you commit it: `expected.json`
beside each recording says what a report must say of it.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"
CASES = {
    "py-generator-input": ("py-generator-input", "slow.py", 250),
    "sequential-map": ("sequential-map", "slow.py", 120),
    "shuffle-after-decode": ("shuffle-after-decode", "slow.py", 199),
    "run-eagerly-on": ("run-eagerly-on", "slow.py", 200),
    "callback-batch-slow": ("callback-batch-slow", "slow.py", 2000),
    "retrace-shapes": ("retrace-shapes", "slow.py", 190),
    "healthy-arrays": ("run-eagerly-on", "fixed.py", 2000),
    "healthy-callback": ("callback-batch-slow", "fixed.py", 2500),
}


def main() -> None:
    """Make the recordings named on the command line, or all of them."""
    for name in sys.argv[1:] or CASES:
        example, script, steps = CASES[name]
        make(name, EXAMPLES / example / script, steps)


def make(name: str, script: Path, steps: int) -> None:
    """Run one script and keep its recording."""
    target = HERE / f"{name}.qfrun"
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="quickfit-") as temp:
        shutil.copy(script, Path(temp) / "train.py")
        command = [sys.executable, "-m", "quickfit", "run", "--steps", str(steps)]
        subprocess.run(
            [*command, "--output", "run.qfrun", "train.py"],
            cwd=temp,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        target.mkdir()
        (recorded,) = Path(temp).glob("run.qfrun/*.sqlite")
        ours = str(HERE.parent.parent / "src")
        places = {temp: "/home/user", ours: "/usr", sys.prefix: "/usr", sys.base_prefix: "/usr"}
        rewrite(recorded, target / "1.sqlite", places)
        run = json.loads((Path(temp) / "run.qfrun" / "run.json").read_text())
        kept = {"script": "train.py", "exit_code": run["exit_code"], "signal": run["signal"]}
        (target / "run.json").write_text(json.dumps(kept, indent=1) + "\n")
    print(name, (target / "1.sqlite").stat().st_size // 1000, "kB")


def rewrite(source: Path, target: Path, places: dict[str, str]) -> None:
    """Copy a recording with the folders of this machine replaced."""
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
    db.execute(f"VACUUM INTO '{target}'")
    db.close()


if __name__ == "__main__":
    main()

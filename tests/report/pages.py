"""Real recordings as pages, one of them written by someone who means harm."""

from __future__ import annotations

import json
import sqlite3
import tarfile
from pathlib import Path

from quickfit.diagnosis import diagnose
from quickfit.findings import Diagnosis

RECORDINGS = Path(__file__).parents[1] / "recordings"
# What would run, if any of it became markup.
HOSTILE = (
    "</script><script>window.harm=1</script><img src=x onerror=window.harm=1>"
    "\u2028\"' onmouseover='window.harm=1'`${window.harm=1}`&lt;\u202e\x1b[31m-->"
)


def unpack(name: str, folder: Path) -> Path:
    """Unpack a kept recording, and return its run."""
    with tarfile.open(RECORDINGS / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "run.qfrun"


def diagnosis_of(name: str, folder: Path) -> Diagnosis:
    """Return the diagnosis of a kept recording, with its details."""
    return diagnose(unpack(name, folder), with_details=True)


def hostile_run(folder: Path) -> Path:
    """Return a recording whose file names, source, callbacks and functions mean harm."""
    run = unpack("variants/combined.validation_callback", folder)
    for file in run.glob("*.sqlite"):
        db = sqlite3.connect(file)
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        for table in tables:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            for column in [c for c in columns if c.endswith("file")]:
                wrong = f"/home/user/{HOSTILE}.py"
                db.execute(
                    f"UPDATE {table} SET {column}=? WHERE {column} LIKE '/home/user/%'", (wrong,)
                )
        db.execute("UPDATE callbacks SET name=? || name", (HOSTILE,))
        db.execute("UPDATE traces SET name=?", (HOSTILE,))
        (text,) = db.execute("SELECT text FROM sources").fetchone()
        shown = HOSTILE.replace("\u2028", "")
        lines = [f"{line}  # {shown}" if line.strip() else line for line in text.split("\n")]
        db.execute("UPDATE sources SET text=?", ("\n".join(lines),))
        db.commit()
        db.close()
    facts = json.loads((run / "run.json").read_text())
    facts["script"] = HOSTILE
    (run / "run.json").write_text(json.dumps(facts))
    return run

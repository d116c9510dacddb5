"""Stories of `quickfit fix` in one line, about real files in a folder of the test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quickfit.code.file_changes import read_source
from quickfit.findings import Change, Diagnosis, Edit, FixClass, Gain
from quickfit.fixing.sources import Sources
from quickfit.fixing.story import Story
from quickfit.lab.statistics import interval
from quickfit.lab.verdict import Outcome
from quickfit.launch.target import Target

import builders
from report.builders import diagnosis, map_finding

TEXT = "import tensorflow as tf\nds = ds.map(decode)\nds = ds.batch(32)\nmodel.fit(ds)\n"
MAP = ((2, 18), (2, 18), ", num_parallel_calls=tf.data.AUTOTUNE")
BATCH = ((3, 14), (3, 16), "256")


def write_script(home: Path, text: str = TEXT, name: str = "train.py") -> Path:
    """Write the script that stories are about."""
    path = home / name
    path.write_text(text)
    return path


def outcome(
    path: Path,
    edit: tuple[Any, ...] = MAP,
    *,
    cause: str = "sequential-map",
    kind: FixClass = FixClass.SAME_RESULTS,
    why: str = "",
    ratios: tuple[float, ...] = (1.8, 1.85, 1.9),
    **more: Any,
) -> Outcome:
    """Return what became of one change of a file: accepted, unless there is a reason why not."""
    change = Change("Run the map on several threads", kind, (Edit(str(path), *edit),))
    facts = {
        "predicted": Gain(1.4, 1.9, 2.5, "a guess"),
        "measured": interval(ratios) if ratios else None,
        "results": "bit-equal, 32 steps",
        "unit": "steps",
        "took_s": 62.0,
        **more,
    }
    return Outcome(cause, "train.py:2", change, kind=kind, is_accepted=not why, why=why, **facts)


def story(home: Path, *outcomes: Outcome, **changes: Any) -> Story:
    """Return a story about the Python files of a folder."""
    files = {str(path): read_source(str(path)) for path in sorted(home.glob("*.py"))}
    facts: dict[str, Any] = {
        "recording": builders.recording(),
        "diagnosis": described(bool(outcomes)),
        "sources": Sources(files, ()),
        "target": Target(script="train.py"),
        "cwd": home,
        "outcomes": list(outcomes),
        **changes,
    }
    return Story(**facts)


def described(has_findings: bool = True) -> Diagnosis:
    """Return a diagnosis with one finding or none."""
    return diagnosis(*([map_finding()] if has_findings else []))

"""What a trial is told: where its scratch folder is, which files are edited, what to keep."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

# The file in the scratch folder, and the variable that names it.
SPEC_FILE = "trial.json"
VARIABLE = "QUICKFIT_TRIAL"
# What a trial leaves in its scratch folder.
UNSAFE_FILE = "unsafe.json"
RESULTS_FILE = "results.jsonl"
ROWS_FILE = "rows.npz"
WEIGHTS_FILE = "weights.npz"
HELD_FILE = "held"
# How a trial ends that could not be begun, or was about to harm a file of the user.
EXIT_NOT_BEGUN = 98
EXIT_UNSAFE = 97


@dataclass(frozen=True)
class Spec:
    """One trial.

    Args:
        scratch: the only folder it may write to.
        parent: the process that it must not outlive.
        report: the descriptor to write to how it is confined; -1 for none.
        trusts_script: it is tried although only Python guards the user's files.
        shared_memory: names of what the user has in `/dev/shm`.
        files: the edited text of a file, by the file's path: a path in the scratch folder.
        seed: of every random number.
        results_steps: how many steps to keep batches, losses and weights of; 0 for none.
        holds: it stops itself after its first step, until it is let go on.
        script: what to run, as the user wrote it; empty for a module.
        module: a dotted name, or empty.
        args: of the script.
    """

    scratch: str
    parent: int
    files: dict[str, str] = field(default_factory=dict)
    seed: int = 1
    results_steps: int = 0
    holds: bool = False
    script: str = ""
    module: str = ""
    args: tuple[str, ...] = ()
    report: int = -1
    trusts_script: bool = False
    shared_memory: tuple[str, ...] = ()

    def write(self) -> Path:
        """Write the trial's file into its scratch folder."""
        path = Path(self.scratch) / SPEC_FILE
        path.write_text(json.dumps(asdict(self)))
        return path


def read(path: str) -> Spec:
    """Return what a trial's file says."""
    facts = json.loads(Path(path).read_text())
    lists = {name: tuple(facts[name]) for name in ("args", "shared_memory")}
    return Spec(**facts | lists)

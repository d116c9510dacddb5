"""The script asks a question, or stops in a debugger, and waits for somebody to type.

Why it is slow: `input()`, `getpass`, `breakpoint()` and `pdb.set_trace()` wait for a line on stdin.
In a job, behind `nohup`, in a container or with the question scrolled away nobody types it, and the
training waits without using the CPU.

How it shows: a line of yours that asks (or a debugger below it) stands still, and the system says
that its thread sleeps in reading stdin.

Example:
    import os

    if os.path.exists("model.keras") and input("overwrite? ") != "y":
        raise SystemExit
    model.fit(ds)

Use instead:
    import argparse
    import os

    parser = argparse.ArgumentParser()
    parser.add_argument("--overwrite", action="store_true")
    options = parser.parse_args()
    if os.path.exists("model.keras") and not options.overwrite:
        raise SystemExit("model.keras exists: give --overwrite")
    model.fit(ds)

Fix class: shown only. An option asks nobody; `sys.stdin.isatty()` tells whether anybody is there.

When it is wrong: a script that reads its data from stdin (`cat data | train.py`) waits for a pipe
and not for a person. Then it is said only after the limit of `--stuck-after`, if nothing came
through meanwhile, and a line that neither asks nor names stdin is never accused.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Finding, Fix, Symptom
from quickfit.signals import Signals


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "waits-for-stdin")


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to do without a question."""
    return advice(__doc__ or "", "Ask only where somebody can answer")


CAUSE = Cause(
    title="The script waits for somebody to type",
    symptom=Symptom.STUCK,
    detect=detect,
    fix=fix,
)

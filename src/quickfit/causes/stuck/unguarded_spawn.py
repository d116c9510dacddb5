"""Workers started by spawn run the script again from its first line instead of working.

Why it is slow: a worker that is spawned, or comes from a fork server, is a new Python. It imports
the script to find its functions. If the script does its work at the top level, the worker loads
the data, builds the model and tries to start workers itself, which Python refuses: it dies, the
pool starts another one, and so on. The script waits for an answer that never comes.

How it shows: processes below the script are seen inside the script's own top level, called from
`multiprocessing/spawn.py`; they come and go, or stay there; and the line at which the script starts
them is not inside an `if __name__ == "__main__":`.

Example:
    import multiprocessing

    pool = multiprocessing.get_context("spawn").Pool(4)
    images = pool.map(load_image, paths)
    model.fit(stack(images), labels)

Use instead:
    import multiprocessing

    def main():
        with multiprocessing.get_context("spawn").Pool(4) as pool:
            images = pool.map(load_image, paths)
        model.fit(stack(images), labels)

    if __name__ == "__main__":
        main()

Fix class: shown only. Everything that starts, loads or trains goes below the guard; what the
workers need (functions, constants, imports) stays above it.

When it is wrong: the workers of a guarded script import it too, which takes seconds where it
imports TensorFlow. So the text of the script decides: where the line that starts the workers is
guarded by `__name__`, or asks `parent_process` or `current_process`, nothing is said.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Finding, Fix, Symptom
from quickfit.signals import Signals


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "unguarded-spawn")


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show the guard that a script with spawned workers needs."""
    return advice(__doc__ or "", 'Put what the script does below `if __name__ == "__main__":`')


CAUSE = Cause(
    title="Workers run the whole script again",
    symptom=Symptom.STUCK,
    detect=detect,
    fix=fix,
)

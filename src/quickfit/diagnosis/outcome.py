"""How the script ended, from what its parent saw."""

from __future__ import annotations

import os
import re
import shlex
from typing import NamedTuple

from quickfit.findings import RunOutcome
from quickfit.recording.folder import is_gone
from quickfit.recording.reader import Recording

# What a script imports, what it is called, and which package has it.
_FRAMEWORKS = {
    "tensorflow": ("TensorFlow", "quickfit[cpu]"),
    "keras": ("Keras", "quickfit[cpu]"),
    "tf_keras": ("Keras 2 (tf_keras)", "tf_keras"),
}
# As Python says it; a submodule that is missing is no framework that is not installed.
_NOT_FOUND = re.compile(r"No module named '(\w+)'")


def run_outcome(recording: Recording) -> RunOutcome:
    """Return the end of the run: finished, still running, an exit code, a signal, or gone."""
    run = recording.run
    if recording.main.facts.get("stopped_early"):
        return RunOutcome("stopped early, as asked", 0)
    signal, code = run.get("signal"), run.get("exit_code")
    if isinstance(signal, str | int) and signal:
        return RunOutcome(f"ended by {signal}", None, str(signal))
    if isinstance(code, int):
        return RunOutcome("finished" if code == 0 else f"exit code {code}", code)
    if not run:
        return RunOutcome("unknown")
    if run.get("inside"):
        return _inside_outcome(recording)
    return RunOutcome("gone" if is_gone(recording.path, run.get("pid")) else "running")


def _inside_outcome(recording: Recording) -> RunOutcome:
    """Return how the part of a script ended that the script watched itself."""
    left_by, facts = recording.run.get("left_by"), recording.main.facts
    if isinstance(left_by, str):
        return RunOutcome(f"left by {left_by}")
    # A script that is killed writes no end; one that asks for its own report is alive.
    is_known = "ended_s" in facts or facts.get("pid") == os.getpid()
    return RunOutcome("finished" if is_known else "unknown")


class MissingFramework(NamedTuple):
    """A framework that the script imports and its Python does not have.

    Args:
        name: as people call it: `TensorFlow`.
        headline: what is missing, and where, in one line.
        advice: what to do, in a few lines.
    """

    name: str
    headline: str
    advice: str


def missing_framework(recording: Recording) -> MissingFramework | None:
    """Return what to install when the script ended because TensorFlow or Keras is missing.

    Then nothing was trained and no cause can be looked for: this is the whole report.
    """
    ended_by = recording.main.facts.get("ended_by") or {}
    if ended_by.get("type") != "ModuleNotFoundError":
        return None
    module = _NOT_FOUND.fullmatch(ended_by.get("message") or "")
    if module is None or module[1] not in _FRAMEWORKS:
        return None
    name, package = _FRAMEWORKS[module[1]]
    command, module_run = recording.run.get("command"), recording.run.get("module")
    python = str(command[0]) if isinstance(command, list) and command else "python"
    script = os.path.basename(str(recording.run.get("script") or "YOUR_SCRIPT.py"))
    again = f"-m {module_run}" if isinstance(module_run, str) else shlex.quote(script)
    install = f"{shlex.quote(python)} -m pip install {shlex.quote(package)}"
    if package == "quickfit[cpu]":
        install += "    (with an NVIDIA GPU: 'quickfit[gpu]')"
    return MissingFramework(
        name,
        f"{name} is not installed for the Python that ran the script ({python})",
        f"Install it there:\n    {install}\n"
        f"Or, if the script has an environment of its own, install quickfit in that one, and run:\n"
        f"    THAT_ENVIRONMENT/bin/python -m quickfit run {again}",
    )

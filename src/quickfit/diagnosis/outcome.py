"""How the script ended, from what its parent saw."""

from __future__ import annotations

from quickfit.findings import RunOutcome
from quickfit.recording.reader import Recording


def run_outcome(recording: Recording) -> RunOutcome:
    """Return the end of the run: finished, still running, an exit code or a signal."""
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
        # The script watches itself, and asked for the report of what it has watched.
        return RunOutcome("finished")
    return RunOutcome("running")

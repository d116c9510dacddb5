"""Runs of which something was said while they were quiet, as run.json keeps it."""

from __future__ import annotations

from typing import Any

from quickfit.signals import Signals

from builders import HOT_LINE, SCRIPT, run


def noted(cause: str, **given: Any) -> dict[str, Any]:
    """Return what `run.json` keeps of one silence."""
    evidence = [
        {"what": "looks", "value": 1.0, "unit": "share", "detail": "futex"},
        {"what": "since the last batch", "value": 31.0, "unit": "s", "detail": ""},
    ]
    known: dict[str, Any] = {
        "kind": "stuck",
        "text": f"stuck: {cause} was seen — train.py:6 ({cause})",
        "at_s": 1040.0,
        "step": 3,
        "quiet_s": 31.0,
        "moved_again_s": None,
        "cause": cause,
        "summary": f"{cause} was seen",
        "file": SCRIPT,
        "line": HOT_LINE,
        "also_file": None,
        "also_line": None,
        "moves": False,
        "advice": "Do something.",
        "evidence": evidence,
    }
    return {**known, **given}


def quiet_run(*silences: dict[str, Any], **given: Any) -> Signals:
    """Return a run that took no step and of which this was said."""
    facts = {"exit_code": None, "signal": "SIGINT", "script": "train.py", "quiet": [*silences]}
    known: dict[str, Any] = {"steps": 0, "with_model": False, "input_samples": 0}
    return run(**{**known, "run": facts, **given})

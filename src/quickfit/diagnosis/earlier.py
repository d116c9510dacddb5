"""What was said while a run went on, held against what its whole recording shows.

A claim made during the run is in the final report, or it is withdrawn with the reason.
"""

from __future__ import annotations

from typing import Any

from quickfit.findings import EarlyVerdict, Finding, NotChecked, Severity
from quickfit.recording.reader import Recording


def early_verdict(
    recording: Recording, verdict: str, findings: list[Finding], not_checked: list[NotChecked]
) -> EarlyVerdict | None:
    """Return the early verdict, and whether it held; None where none was given."""
    early = recording.run.get("early")
    if not isinstance(early, dict) or "headline" not in early:
        return None
    told = [finding for finding in findings if finding.severity != Severity.MENTION]
    first = [str(cause) for cause in early.get("causes") or ()][:1]
    if first:
        # A cause that is still reported holds, also behind one that came to weigh more.
        held = first[0] in {finding.cause for finding in told}
    else:
        # What was said of the script holds on a machine that got busy.
        held = all(finding.is_of_machine for finding in told)
        held = held and (bool(told) or verdict == early.get("verdict"))
    why = "" if held else _why_gone(first[0] if first else "", findings, not_checked)
    return EarlyVerdict(str(early["headline"]), int(early.get("at_step") or 0), held, why)


def withdrawn(
    recording: Recording, findings: list[Finding], not_checked: list[NotChecked]
) -> tuple[str, ...]:
    """Say which claims of the run the whole of it does not confirm, and why."""
    reported = {finding.cause for finding in findings}
    return tuple(
        f"Withdrawn: at step {claim.get('at_step', 0)} it was said that"
        f" {claim.get('summary') or claim['cause']} ({claim['cause']});"
        f" {_why_gone(claim['cause'], findings, not_checked)}."
        for claim in _claims(recording)
        if claim["cause"] not in reported
    )


def _claims(recording: Recording) -> list[dict[str, Any]]:
    claims = recording.run.get("announced")
    known = claims if isinstance(claims, list) else []
    return [one for one in known if isinstance(one, dict) and isinstance(one.get("cause"), str)]


def _why_gone(cause: str, findings: list[Finding], not_checked: list[NotChecked]) -> str:
    smaller = next((f for f in findings if f.cause == cause), None)
    if smaller is not None:
        return f"over the whole run it costs {smaller.cost_share:.0%}"
    missing = next((one for one in not_checked if one.cause == cause), None)
    if missing is not None:
        return f"the whole recording cannot tell: {missing.reason}"
    if not cause and findings:
        return f"the rest of the run showed {findings[0].cause}"
    return "over the whole run it is not large enough to be told"

"""Asks every cause: finding, clear, or not checked; then puts the diagnosis together."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from quickfit.account import loop_account, memory_account, time_account
from quickfit.account.input_limit import limit_of_input
from quickfit.account.planned import planned_weight
from quickfit.causes import Cause, catalogue
from quickfit.diagnosis import outcome
from quickfit.diagnosis.breakdown import breakdown
from quickfit.diagnosis.candidates import with_own_edits
from quickfit.diagnosis.details import run_details
from quickfit.diagnosis.device import device_verdict
from quickfit.diagnosis.headline_place import at_users_line, made_before
from quickfit.diagnosis.imported import diagnose_profile
from quickfit.diagnosis.ranking import (
    behind_the_first,
    of_the_run,
    of_the_whole,
    ranked,
    without_double_claims,
    without_explained,
    without_vaguer,
)
from quickfit.diagnosis.run_facts import early_verdict, overhead, phases, turbo_places, withdrawn
from quickfit.diagnosis.texts import only_in_text, proven_by_text
from quickfit.diagnosis.verdict import (
    Verdict,
    last_seen,
    memory_severity,
    memory_verdict,
    silent,
    verdict,
)
from quickfit.errors import SignalMissing
from quickfit.findings import (
    MIN_GAIN,
    AccountNode,
    Clear,
    Diagnosis,
    Finding,
    NotChecked,
    Severity,
    Symptom,
)
from quickfit.recording.reader import Recording
from quickfit.signals import Signals

# Shares of the time: a finding is mentioned, reported, severe from here.
MENTION_SHARE, REPORT_SHARE, SEVERE_SHARE = 0.05, 0.10, 0.20
# What is wrong, stuck, or runs out is told whatever time it takes: `memory_severity` says how
# loudly.
NOT_OF_TIME = (Symptom.WRONG, Symptom.CRASH, Symptom.STUCK, Symptom.MEMORY)
# How the reason begins where a cause failed: that is for us to mend.
OWN_ERROR = "an error in quickfit:"


def diagnose_recording(recording: Recording, *, with_details: bool = False) -> Diagnosis:
    """Return the diagnosis of a run that was read.

    Args:
        recording: the run.
        with_details: with what a page draws beside the report, too.
    """
    if recording.main.facts.get("imported"):
        return diagnose_profile(recording)
    signals = Signals(recording)
    account = time_account(signals)
    findings, clear, not_checked = _ask_loops(signals)
    by_text, unread = proven_by_text(signals)
    findings = ranked([*findings, *silent(signals, findings), *by_text])
    findings = with_own_edits(findings, signals)
    told = {finding.cause for finding in findings}
    in_text = only_in_text(signals, told)
    shown = {one.cause for one in in_text}
    clear = [one for one in clear if one.cause not in shown]
    missing = [one for one in (*not_checked, *unread) if one.cause not in {*told, *shown}]
    not_checked = [*missing, *in_text]
    asked = {*told, *map(_name, clear), *(one.cause for one in not_checked)}
    clear = sorted([*clear, *(Clear(name) for name in catalogue() if name not in asked)], key=_name)
    parts = breakdown(signals)
    device = device_verdict(recording.main, signals)
    missing_package = outcome.missing_framework(recording)
    if missing_package is not None:
        # Nothing could be trained, and no cause be looked for.
        lines = [line.strip() for line in missing_package.advice.splitlines()]
        advice = tuple(f"{what} {how}" for what, how in zip(lines[::2], lines[1::2], strict=True))
        said = Verdict("no-steps", missing_package.headline, advice)
        findings, clear, not_checked, account = [], [], [], None
    elif signals.is_memory_run:
        said = memory_verdict(signals, findings)
    else:
        said = verdict(signals, findings, parts, device)
    memory = memory_account(signals)
    first = phases(signals) if missing_package is None else ()
    return Diagnosis(
        run=str(recording.path),
        script=_script(recording),
        verdict=said.kind,
        headline=said.headline,
        device=device,
        breakdown=parts,
        findings=tuple(findings),
        clear=tuple(clear),
        not_checked=tuple(not_checked),
        overhead=overhead(signals),
        outcome=outcome.run_outcome(recording),
        advice=said.advice,
        notes=(
            *said.notes,
            *made_before(signals),
            *withdrawn(recording, findings, not_checked),
            *_last_seen(recording, signals, said),
            *recording.problems,
        ),
        early=early_verdict(recording, said.kind, findings, not_checked),
        phases=first,
        account=account,
        memory=memory,
        details=run_details(signals, findings=findings, memory=memory, phases=first)
        if with_details
        else None,
        turbo=turbo_places(signals),
    )


def _ask_loops(signals: Signals) -> tuple[list[Finding], list[Clear], list[NotChecked]]:
    """Ask every cause about the main loop, and about others that take a good part of the run."""
    found, clear, not_checked = _ask_all(signals)
    findings = _worth_telling(signals, found)
    for other in _other_loops(signals):
        more, _, _ = _ask_all(other)
        known = {(finding.cause, finding.where) for finding in findings}
        findings += [
            finding
            for finding in _worth_telling(other, more)
            # What is about the run or the machine was said already.
            if (finding.cause, finding.where) not in known
            and finding.symptom == Symptom.SLOW
            and not finding.is_of_machine
            and finding.claims
            and finding.severity != Severity.MENTION
        ]
    findings = without_explained(findings)
    told = {finding.cause for finding in findings}
    return findings, [one for one in clear if one.cause not in told], not_checked


def _other_loops(signals: Signals) -> list[Signals]:
    """Return the signals of the loops beside the main one that take a tenth of the run or more."""
    root = time_account(signals)
    if root is None or not signals.loops:
        return []
    large = {node.loop for node in root.children if node.loop and node.share >= REPORT_SHARE}
    main = signals.loop.id
    return [signals.about(loop) for loop in signals.loops if loop.id in large and loop.id != main]


def _worth_telling(signals: Signals, found: list[Finding]) -> list[Finding]:
    """Return what is worth telling about one loop, with every second of it claimed once."""
    parts = breakdown(signals)
    shares = {part.name: part.share for part in parts.parts} if parts else {}
    weight, node = planned_weight(signals), loop_account(signals) if signals.loops else None
    loop_s = node.seconds if node is not None else 0.0
    worth = [finding for finding in found if _is_worth_telling(finding)]
    exact = {cause.name: cause.says_more_than for cause in catalogue().values()}
    worth = without_vaguer(worth, exact)
    kept = ranked(without_double_claims(worth, shares))
    kept += behind_the_first(kept, [f for f in found if not _is_worth_telling(f)])
    if node is not None and not signals.loop.trains:
        kept = [of_the_run(finding, node.share) for finding in kept]
    return [
        dataclasses.replace(
            finding,
            loop=node.loop if node is not None else 0,
            weight=1.0 if finding.cost_s or finding.is_outside_training else weight,
            cost_s=finding.cost_s or _cost_s(finding, loop_s, node),
        )
        for finding in kept
    ]


def _cost_s(finding: Finding, loop_s: float, node: AccountNode | None) -> float:
    """Return what a finding costs in seconds: its share is one of the loop, or of the run."""
    if finding.is_outside_training and node is not None and node.share:
        return finding.cost_share * loop_s / node.share
    return finding.cost_share * loop_s


def _ask_all(signals: Signals) -> tuple[list[Finding], list[Clear], list[NotChecked]]:
    findings: list[Finding] = []
    clear: list[Clear] = []
    not_checked: list[NotChecked] = []
    for cause in catalogue().values():
        if cause.detect is None:
            continue  # `texts` asks those
        if signals.is_memory_run and cause.symptom != Symptom.MEMORY:
            not_checked.append(NotChecked(cause.name, "needs a run without --memory"))
            continue
        try:
            finding = _ask(cause, signals)
        except SignalMissing as missing:
            not_checked.append(NotChecked(cause.name, f"needs {missing.needs}"))
            continue
        except Exception as error:  # noqa: BLE001 - one bad cause must not take the report along
            not_checked.append(
                NotChecked(cause.name, f"{OWN_ERROR} {type(error).__name__}: {error}")
            )
            continue
        if finding is None:
            clear.append(Clear(cause.name))
        else:
            findings.append(finding)
    return findings, clear, not_checked


def _ask(cause: Cause, signals: Signals) -> Finding | None:
    if cause.symptom not in (Symptom.STUCK, Symptom.MEMORY) and not cause.is_general:
        _ = signals.steps  # no cause is clear where there was no step to look at
    found = cause.detect(signals) if cause.detect is not None else None
    found = at_users_line(found, signals) if found is not None else None
    if found is not None and not found.is_of_whole:
        whole = signals.whole_time
        ends_share = whole.iterator_ends_s / whole.total_s if whole.total_s else 0.0
        found = of_the_whole(found, whole.steps_share, ends_share)
    if found is None or (found.cost_share < MENTION_SHARE and cause.symptom not in NOT_OF_TIME):
        return None
    fix = cause.fix(found, signals) if cause.fix is not None else None
    return dataclasses.replace(
        found,
        cause=cause.name,
        title=cause.title,
        symptom=cause.symptom,
        severity=_severity(found, cause.symptom),
        fix=fix,
        resource=_resource(cause, found, signals),
        is_general=cause.is_general,
    )


def _resource(cause: Cause, found: Finding, signals: Signals) -> str:
    """Return what the input has run out of; more workers help against some of that only."""
    is_input = "input_wait" in found.claims
    return cause.resource or (limit_of_input(signals) if is_input else "")


def _is_worth_telling(found: Finding) -> bool:
    return found.symptom in NOT_OF_TIME or found.gain.likely >= MIN_GAIN


def _name(clear: Clear) -> str:
    return clear.cause


def _severity(found: Finding, symptom: Symptom) -> Severity:
    if symptom in (Symptom.WRONG, Symptom.CRASH, Symptom.STUCK):
        return Severity.MENTION if found.is_past else Severity.SEVERE
    if found.exhaustion is not None:
        return memory_severity(found.exhaustion)
    share = found.cost_share
    if share >= SEVERE_SHARE:
        return Severity.SEVERE
    return Severity.REPORT if share >= REPORT_SHARE else Severity.MENTION


def _script(recording: Recording) -> str:
    script = recording.run.get("script") or recording.run.get("module")
    if isinstance(script, str):
        return script
    argv = recording.main.facts.get("argv") or []
    return next((Path(str(arg)).name for arg in argv[1:] if not str(arg).startswith("-")), "")


def _last_seen(recording: Recording, signals: Signals, said: Verdict) -> tuple[str, ...]:
    """Say where a run was that did not end by itself; without steps the verdict has said it."""
    run = recording.run
    ended = run.get("exit_code") is not None or not run or bool(run.get("inside"))
    return () if ended or said.kind == "no-steps" else last_seen(signals)

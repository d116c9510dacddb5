"""The changes that would remove what was found in a run: shown, or candidates for a proof."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quickfit.causes import catalogue
from quickfit.code import Program
from quickfit.code.edits import fix_from_change
from quickfit.diagnosis.reliefs import input_reliefs
from quickfit.diagnosis.texts import changes_by_text
from quickfit.errors import FixError, SignalMissing
from quickfit.findings import Change, Diagnosis, Finding, Fix, Severity
from quickfit.recording.reader import Recording
from quickfit.signals import Signals


@dataclass(frozen=True)
class Candidate:
    """One change that may remove a cause; several of one finding are alternatives.

    Args:
        finding: what it is to remove.
        change: the edit.
        is_relief: it was made for the wait that the finding is about, not for its cause.
    """

    finding: Finding
    change: Change
    is_relief: bool = False

    @property
    def cause(self) -> str:
        """The name of the cause."""
        return self.finding.cause

    @property
    def promise(self) -> float:
        """The gain that is likely, of what is to be done first."""
        behind = self.finding.after_first
        return (behind or self.finding.gain).likely


@dataclass(frozen=True)
class Unrecognised:
    """A finding whose code was not recognised, so that there is only advice; or our own error."""

    finding: Finding
    why: str = ""


def candidates(
    recording: Recording, diagnosis: Diagnosis, texts: Mapping[str, str]
) -> tuple[list[list[Candidate]], list[Unrecognised]]:
    """Return the alternatives for each finding, the best first, and what has none.

    Args:
        recording: of the run.
        diagnosis: of the same run.
        texts: the user's files as they are now, by their paths.
    """
    signals, project = Signals(recording), Program(texts=texts)
    found: list[list[Candidate]] = []
    without: list[Unrecognised] = []
    for finding in diagnosis.findings:
        changes, why = _all_changes(finding, signals, project, texts)
        if changes:
            found.append([Candidate(finding, change) for change in changes])
        else:
            without.append(Unrecognised(finding, why))
    reliefs = _reliefs(diagnosis, signals, project, found)
    if not reliefs:
        return found, without
    without = [one for one in without if one.finding.cause != reliefs[0].cause]
    # What promises most is tried first.
    behind = (n for n, group in enumerate(found) if group[0].promise < reliefs[0].promise)
    place = next(behind, len(found))
    return [*found[:place], reliefs, *found[place:]], without


def _reliefs(
    diagnosis: Diagnosis, signals: Signals, project: Program, found: Sequence[Sequence[Candidate]]
) -> list[Candidate]:
    """Return what may shorten the wait for input without understanding its code.

    Where an edit does the same work otherwise, spreading it as it was is no alternative; and where
    one keeps its results, they need not be kept again.
    """
    try:
        reliefs = input_reliefs(diagnosis.findings, signals, project)
    except SignalMissing:
        return []
    except Exception:  # noqa: BLE001 - what is offered beside the fixes must not take them along
        return []
    changes = [one.change for group in found for one in group]
    is_kept = any("cache" in edit.text for change in changes for edit in change.edits)
    is_edited = any("input_wait" in group[0].finding.claims for group in found)
    return [
        Candidate(one.finding, one.relief.change, is_relief=True)
        for one in reliefs
        if not (is_kept if one.relief.keeps else is_edited)
    ]


def with_own_edits(findings: Sequence[Finding], signals: Signals) -> list[Finding]:
    """Return findings with the edit that `quickfit fix` would make, where the code is recognised.

    A finding that is only mentioned shows no fix, and costs no parsing.
    """
    texts = {file: signals.source_text(file) for file in signals.source_files()}
    project = Program(texts=texts)
    return [
        finding
        if finding.severity == Severity.MENTION
        else _with_own_edit(finding, signals, project, texts)
        for finding in findings
    ]


def _with_own_edit(
    finding: Finding, signals: Signals, project: Program, texts: Mapping[str, str]
) -> Finding:
    if finding.fix is not None and finding.fix.hunks:
        return finding
    changes, _ = _all_changes(finding, signals, project, texts)
    if not changes or not all(file in texts for file in changes[0].files):
        return finding
    fix, advice = _in_cells(fix_from_change(changes[0], texts), signals), finding.fix
    if advice is not None:
        # Of one edit the cause may know more to say.
        says_more = fix.note and advice.note.startswith(fix.note)
        note = advice.note if says_more else fix.note
        fix = dataclasses.replace(fix, note=note, short_way=advice.short_way)
    return dataclasses.replace(finding, fix=fix)


def _in_cells(fix: Fix, signals: Signals) -> Fix:
    """Return a fix whose places in a notebook have the names of their cells."""
    places = [signals.location(hunk.file, hunk.line) for hunk in fix.hunks]
    cells = [place.cell if place is not None else "" for place in places]
    named = zip(fix.hunks, cells, strict=True)
    hunks = tuple(dataclasses.replace(hunk, cell=cell) for hunk, cell in named)
    return dataclasses.replace(fix, hunks=hunks) if any(cells) else fix


def _all_changes(
    finding: Finding, signals: Signals, project: Program, texts: Mapping[str, str]
) -> tuple[list[Change], str]:
    """Return the changes by what was measured, else by text alone; and why there are none."""
    own = next((loop for loop in signals.loops if loop.id == finding.loop), None)
    changes, why = _changes(finding, signals.about(own) if own else signals, project)
    return changes or changes_by_text(finding, texts), why


def _changes(finding: Finding, signals: Signals, project: Program) -> tuple[list[Change], str]:
    make = catalogue()[finding.cause].changes
    if make is None:
        return [], ""
    try:
        return [change for change in make(finding, signals, project) if change.edits], ""
    except SignalMissing as missing:
        return [], f"needs {missing.needs}"
    except FixError as error:
        return [], str(error)
    except Exception as error:  # noqa: BLE001 - one bad fix must not take the others along
        return [], f"an error in quickfit: {type(error).__name__}: {error}"

"""The changes that would remove what was found in a run, as candidates for a proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quickfit.causes import catalogue
from quickfit.diagnosis.texts import changes_by_text
from quickfit.errors import SignalMissing
from quickfit.findings import Diagnosis, Finding
from quickfit.fixes.change import Change
from quickfit.fixes.script import Project
from quickfit.recording.reader import Recording
from quickfit.signals import Signals


@dataclass(frozen=True)
class Candidate:
    """One change that may remove a cause; several of one finding are alternatives."""

    finding: Finding
    change: Change

    @property
    def cause(self) -> str:
        """The name of the cause."""
        return self.finding.cause


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
    signals, project = Signals(recording), Project(texts)
    found: list[list[Candidate]] = []
    without: list[Unrecognised] = []
    for finding in diagnosis.findings:
        changes, why = _changes(finding, signals, project)
        changes = changes or changes_by_text(finding, texts)
        if changes:
            found.append([Candidate(finding, change) for change in changes])
        else:
            without.append(Unrecognised(finding, why))
    return found, without


def _changes(finding: Finding, signals: Signals, project: Project) -> tuple[list[Change], str]:
    make = catalogue()[finding.cause].changes
    if make is None:
        return [], ""
    try:
        return [change for change in make(finding, signals, project) if change.edits], ""
    except SignalMissing as missing:
        return [], f"needs {missing.needs}"
    except Exception as error:  # noqa: BLE001 - one bad fix must not take the others along
        return [], f"an error in quickfit: {type(error).__name__}: {error}"

"""Scripts that make no step: what ended them, or keeps them, is repaired all at once.

One repair alone may not be enough: behind the first error comes the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from quickfit.code.edits import is_in_conflict, merge_edits
from quickfit.diagnosis.candidates import Candidate
from quickfit.findings import Change, FixClass
from quickfit.fixing.sources import edited_files
from quickfit.lab.proof import Claim, Prover
from quickfit.lab.verdict import Outcome
from quickfit.recording.reader import Recording

if TYPE_CHECKING:
    from quickfit.fixing.progress import Ticker
    from quickfit.fixing.story import Story

Groups = list[list[Candidate]]


def failure_of(recording: Recording) -> str:
    """Return why a recorded run made no step; empty where it made one."""
    if recording.main.rows("steps"):
        return ""
    told = recording.main.facts.get("ended_by")
    if isinstance(told, dict):
        return f"ended by {told.get('type')}: {str(told.get('message'))[:200]}"
    quiet = [one for one in recording.run.get("quiet") or [] if isinstance(one, dict)]
    stuck = [one for one in quiet if one.get("cause") and one.get("kind") == "stuck"]
    return f"stands still: {stuck[-1].get('summary')}" if stuck else ""


def repairs(groups: Groups) -> Groups:
    """Return the candidates that make something right; speed is nothing to a script that ends."""
    kept = [[c for c in group if c.change.kind == FixClass.REPAIRS] for group in groups]
    return [group for group in kept if group]


def repaired_at_once(story: Story, groups: Groups, prover: Prover, ticker: Ticker) -> bool:
    """Prove all repairs together; tell whether that settled it, and keep what came of each."""
    chosen = _together([group[0] for group in groups])
    if len(chosen) < 2:
        return False
    causes = " + ".join(candidate.cause for candidate in chosen)
    ticker.begin(f"{len(chosen)} repairs together")
    change = Change("All of them", FixClass.REPAIRS, merge_edits([c.change for c in chosen]))
    found = prover.prove(Claim(causes, "", change, None, edited_files(change, story.sources)))
    if not found.is_accepted:
        return False
    story.outcomes += [_outcome(candidate, found) for candidate in chosen]
    return True


def _together(candidates: Sequence[Candidate]) -> list[Candidate]:
    kept: list[Candidate] = []
    for candidate in candidates:
        edits = [edit for other in kept for edit in other.change.edits]
        if not is_in_conflict(candidate.change.edits, edits):
            kept.append(candidate)
    return kept


def _outcome(candidate: Candidate, found: Outcome) -> Outcome:
    where = candidate.finding.where
    return replace(
        found,
        cause=candidate.cause,
        place=where.short if where is not None else "",
        change=candidate.change,
        predicted=candidate.finding.gain,
    )

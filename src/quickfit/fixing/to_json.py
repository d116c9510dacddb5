"""What became of the candidates, for programs: strict JSON, described by its schema."""

from __future__ import annotations

import json

from quickfit import __version__
from quickfit.causes import catalogue
from quickfit.diagnosis.candidates import Unrecognised
from quickfit.fixing.story import Story
from quickfit.fixing.to_terminal import diff_of, outcome_row, why_no_edit
from quickfit.lab.verdict import Outcome

SCHEMA_VERSION = 1


def story_json(story: Story) -> str:
    """Return all that is known as JSON text, with a line end."""
    together = story.together
    report = {
        "schema_version": SCHEMA_VERSION,
        "quickfit_version": __version__,
        "target": story.target.name,
        "run": str(story.recording.path),
        "verdict": story.diagnosis.verdict,
        "headline": story.diagnosis.headline,
        "changes": [_change(outcome, story) for outcome in story.outcomes],
        "together": together and _change(together, story, is_together=True),
        "without_edit": [_advice(one, story) for one in story.without],
        "confinement": story.confinement,
        "is_interrupted": story.is_interrupted,
    }
    return f"{json.dumps(report, indent=2, allow_nan=False)}\n"


def _change(outcome: Outcome, story: Story, *, is_together: bool = False) -> dict[str, object]:
    row = outcome_row(outcome, is_together=is_together).as_json()
    predicted = outcome.predicted
    bounds = predicted and {
        "low": predicted.low,
        "likely": predicted.likely,
        "high": predicted.high,
        "basis": predicted.basis,
    }
    kept = ("change", "class", "verdict", "reason", "gain")
    return {name: row[name] for name in kept} | {
        "is_accepted": outcome.is_accepted,
        "is_cause": not is_together and outcome.cause in catalogue(),
        "where": outcome.place,
        "title": outcome.change.title,
        "note": outcome.change.note,
        "predicted": bounds,
        "compared": outcome.unit,
        "results": outcome.results,
        "files": list(outcome.change.files),
        "diff": diff_of([outcome], story.sources, story.cwd),
        "took_s": outcome.took_s,
    }


def _advice(one: Unrecognised, story: Story) -> dict[str, object]:
    finding = one.finding
    fix = finding.fix
    return {
        "cause": finding.cause,
        "where": finding.where.short if finding.where else "",
        "summary": finding.summary,
        "reason": why_no_edit(one, story),
        "title": fix.title if fix else "",
        "example": (fix.after or fix.example) if fix else "",
    }

"""Findings for programs: strict JSON, documented in docs/check.md.

It is written in ASCII, so that printing it cannot steer a terminal.
"""

from __future__ import annotations

import json
import os
from collections import Counter

from quickfit import __version__
from quickfit.checking.records import Outcome, Told, Trouble
from quickfit.findings import Change, Span
from quickfit.report.text import clip

SCHEMA_VERSION = 1
# Of a longer line nobody reads more; data in a script may be megabytes in one line.
MAX_LINE = 1000


def dumps(outcome: Outcome) -> str:
    """Return everything that was found as JSON text, with a line end."""
    told = outcome.told
    report = {
        "schema_version": SCHEMA_VERSION,
        "quickfit_version": __version__,
        "files": len(outcome.files),
        "findings": [_finding(one, outcome) for one in told],
        "fixed": [_finding(one, outcome) for one in outcome.fixed],
        "errors": [_error(trouble) for trouble in outcome.troubles],
        "statistics": _statistics(outcome),
        "hidden_hints": sum(file.hints for file in outcome.files),
    }
    return f"{json.dumps(report, indent=2, allow_nan=False)}\n"


def shown_path(file: str) -> str:
    """Return a file's path, relative where it is below the working directory, as clean text."""
    relative = os.path.relpath(file)
    return clean(file if relative.startswith("..") else relative)


def clean(text: str) -> str:
    """Return text without halves of surrogate pairs, which strict readers refuse."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _finding(told: Told, outcome: Outcome) -> dict[str, object]:
    spotted = told.spotted
    return {
        "cause": spotted.cause,
        "title": clean(spotted.title),
        "effect": spotted.effect.value,
        "is_hint": spotted.is_hint,
        "summary": clean(spotted.summary),
        "where": _span(spotted.where),
        "code": clean(clip(told.line, MAX_LINE)),
        "related": [{"where": _span(w), "text": clean(text)} for w, text in spotted.related],
        "is_fixable": told.kind in outcome.accepted,
        "change": _change(spotted.change, told) if spotted.change else None,
    }


def _change(change: Change, told: Told) -> dict[str, object]:
    return {
        "title": clean(change.title),
        "class": change.kind.value,
        "note": clean(change.note),
        "edits": [{"where": _span(where), "text": clean(text)} for where, text in told.edits],
    }


def _span(span: Span) -> dict[str, object]:
    return {
        "file": shown_path(span.file),
        "cell": span.cell or None,
        "line": span.line or None,
        "column": span.column if span.line else None,
        "end_line": span.end_line or None,
        "end_column": span.end_column if span.end_line else None,
    }


def _error(trouble: Trouble) -> dict[str, object]:
    return {"where": _span(trouble.where), "message": clean(trouble.message)}


def _statistics(outcome: Outcome) -> list[dict[str, object]]:
    fixable = Counter(told.spotted.cause for told in outcome.fixable)
    rows = sorted(outcome.by_cause.items(), key=lambda row: (-row[1], row[0]))
    return [{"cause": name, "count": n, "fixable": fixable[name]} for name, n in rows]

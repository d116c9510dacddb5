"""The lines that a change takes away and those it brings, for people to read."""

from __future__ import annotations

from quickfit.checking._records import Rewrite
from quickfit.findings import Change, Span
from quickfit.fixes.hunks import Lines, hunks_of


def rewrites_of(change: Change, lines: Lines) -> tuple[Rewrite, ...]:
    """Return what a change does to each place it touches.

    Args:
        change: with places in whole files.
        lines: gives the lines of a file.
    """
    return tuple(
        Rewrite(Span(hunk.file, hunk.line), _rows(hunk.before), _rows(hunk.after))
        for hunk in hunks_of(change, lines)
    )


def _rows(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n")) if text else ()

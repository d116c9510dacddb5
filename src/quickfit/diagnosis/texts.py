"""What the text of a script proves about its run: why it crashed, and what it trains on wrongly.

Only causes that are known from text alone are asked here; what a run measures says more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from quickfit.causes import catalogue, scanned
from quickfit.code import Program
from quickfit.code.edits import fix_from_change
from quickfit.errors import SourceError
from quickfit.findings import (
    Change,
    Effect,
    Evidence,
    Finding,
    Gain,
    Location,
    NotChecked,
    Severity,
    Span,
    Spotted,
    Symptom,
)
from quickfit.signals import Signals
from quickfit.signals.endings import Ending, ended_by

# A line of the user's in an error of TensorFlow's, of code that it has translated.
_TRANSLATED = re.compile(r'File "([^"]+)", line (\d+)')
# What TensorFlow says of itself before it says what is wrong.
_WRAPPED = re.compile(r"\{\{function_node [^}]*\}\}")
# More than this of an error is its traceback.
MAX_MESSAGE = 160
# Files without these words have nothing that a cause looks for.
WORDS = ("tensorflow", "keras")
_NO_SPEED = Gain(1.0, 1.0, 1.0, "")


def proven_by_text(signals: Signals) -> tuple[list[Finding], list[NotChecked]]:
    """Return why the script ended by an error, what its text shows to be wrong, or what is missing.

    A run with `--memory` asks for other things.
    """
    texts = {file: signals.source_text(file) for file in signals.source_files()}
    if not texts or signals.is_memory_run:
        why = "a run without --memory" if signals.is_memory_run else "the text of the script"
        causes = [cause.name for cause in catalogue().values() if cause.detect is None]
        return [], [NotChecked(name, f"needs {why}") for name in causes]
    spots = _spotted_in_run(signals)
    ending = ended_by(signals)
    crash = next((s for s in spots if ending is not None and _ended(s, ending)), None)
    has_steps = bool(signals.process.rows("steps"))
    wrong = [s for s in spots if s.effect == Effect.WRONG]
    # Of a run without a step nothing is measured that could say more.
    wrong = [s for s in wrong if _is_known_by_text(s) or not has_steps]
    first: dict[str, Spotted] = {}
    for spot in wrong:
        first.setdefault(spot.cause, spot)
    found = [_finding(crash, texts, _error(ending))] if crash is not None and ending else []
    return found + [_finding(spot, texts, _in_text(spot)) for spot in first.values()], []


def only_in_text(signals: Signals, told: set[str]) -> list[NotChecked]:
    """Return the causes that the text shows and this run did not, which are not called clear.

    `quickfit check` reports them; a run that ended before, or was short, cannot say otherwise.
    """
    if signals.is_memory_run:
        return []
    first: dict[str, Spotted] = {}
    for spot in _spotted_in_run(signals):
        if spot.cause not in told:
            first.setdefault(spot.cause, spot)
    return [
        NotChecked(cause, f"to be measured: the text shows it at {spot.where.short}")
        for cause, spot in first.items()
    ]


def _spotted_in_run(signals: Signals) -> list[Spotted]:
    """Return what the texts of a run's files prove, read once."""
    if "spotted" not in signals.shared:
        texts = {file: signals.source_text(file) for file in signals.source_files()}
        signals.shared["spotted"] = spotted(texts)
    found: list[Spotted] = signals.shared["spotted"]
    return found


def spotted(texts: Mapping[str, str]) -> list[Spotted]:
    """Return what the texts of a program prove, without what is only sometimes a fault."""
    program = Program([], {file: text.replace("\r\n", "\n") for file, text in texts.items()})
    found: list[Spotted] = []
    for file, text in texts.items():
        if not any(word in text for word in WORDS):
            continue
        try:
            found += scanned(program.module(file), program)
        except SourceError:
            continue
    return [spot for spot in found if not spot.is_hint]


def changes_by_text(finding: Finding, texts: Mapping[str, str]) -> list[Change]:
    """Return the changes that remove a cause wherever the text shows it, as one."""
    if catalogue()[finding.cause].scan is None:
        return []  # no text is read for nothing
    spots = [spot for spot in spotted(texts) if spot.cause == finding.cause]
    changes = [spot.change for spot in spots if spot.change is not None]
    if not changes:
        return []
    edits = tuple(dict.fromkeys(edit for change in changes for edit in change.edits))
    first = changes[0]
    return [Change(first.title, first.kind, edits, first.note)]


def _is_known_by_text(spot: Spotted) -> bool:
    return catalogue()[spot.cause].detect is None


def _ended(spot: Spotted, ending: Ending) -> bool:
    """Tell whether the script ended by an error of a piece of code that is known to crash."""
    if spot.effect != Effect.CRASHES:
        return False
    places = [(file, int(line)) for file, line in _TRANSLATED.findall(ending.message)]
    places += [(place.file, place.line) for place in ending.through]
    spans = (spot.where, *(span for span, _ in spot.related))
    return any(_is_at(span, file, line) for span in spans for file, line in places)


def _is_at(where: Span, file: str, line: int) -> bool:
    return where.file == file and where.line <= line <= max(where.end_line, where.line)


def _finding(spot: Spotted, texts: Mapping[str, str], evidence: Evidence) -> Finding:
    is_crash = spot.effect == Effect.CRASHES
    return Finding(
        summary=spot.summary,
        where=_location(spot.where, texts),
        evidence=(evidence, *(_related(span, said, texts) for span, said in spot.related)),
        gain=_NO_SPEED,
        cost_share=0.0,
        cause=spot.cause,
        title=spot.title,
        symptom=Symptom.CRASH if is_crash else Symptom.WRONG,
        severity=Severity.SEVERE,
        fix=fix_from_change(spot.change, texts) if spot.change is not None else None,
        is_of_whole=True,
    )


def _location(where: Span, texts: Mapping[str, str]) -> Location:
    lines = texts[where.file].splitlines() if where.file in texts else []
    text = lines[where.line - 1].strip() if where.line <= len(lines) else ""
    return Location(where.file, where.line, text)


def _error(ending: Ending | None) -> Evidence:
    assert ending is not None
    said = " ".join(_WRAPPED.sub("", ending.message).split())
    said = said if len(said) <= MAX_MESSAGE else f"{said[:MAX_MESSAGE]} …"
    what = "error that ended the script, from this line"
    return Evidence(what, 1, "count", f"{ending.kind}: {said}")


def _in_text(spot: Spotted) -> Evidence:
    places = 1 + len(spot.related)
    return Evidence("places in the text that show it", places, "count", "read, not measured")


def _related(span: Span, said: str, texts: Mapping[str, str]) -> Evidence:
    return Evidence("other place that shows it", 1, "count", said, _location(span, texts))

"""How many findings there are, of which kind, in words."""

from __future__ import annotations

import shlex
from collections import Counter

from quickfit import units
from quickfit.checking._records import FREE, Outcome
from quickfit.findings import Effect, FixClass

_EFFECTS = {
    Effect.CRASHES: ("crashes", "crash"),
    Effect.HANGS: ("hangs", "hang"),
    Effect.WRONG: ("trains on wrong numbers", "train on wrong numbers"),
    Effect.SLOW: ("slow", "slow"),
}


def summary(outcome: Outcome, *, fixes: bool = True) -> str:
    """Return the line that a report ends with.

    Args:
        outcome: what was found.
        fixes: whether to name the command that fixes some of it.
    """
    told = outcome.told
    files = counted(len(outcome.files), "file")
    if not told:
        text = f"no findings in {files}"
    else:
        places = len({one.spotted.where.file for one in told})
        where = f"{units.count(places)} of {files}" if len(outcome.files) > 1 else files
        text = f"{counted(len(told), 'finding')} in {where} ({_effects(outcome)})"
    return f"{text}{_troubles(outcome)}{_fixes(outcome) if fixes else ''}"


def counted(number: int, thing: str) -> str:
    """Return `1 file`, `12 files`."""
    return f"{units.count(number)} {thing}{'' if number == 1 else 's'}"


def hidden_hints(outcome: Outcome) -> str:
    """Return what to do to see the hints that are not told; empty where there are none."""
    hidden = sum(file.hints for file in outcome.files)
    if not hidden:
        return ""
    what = "1 hint is" if hidden == 1 else f"{units.count(hidden)} hints are"
    return f"{what} not shown (only sometimes slow): --hints"


def _effects(outcome: Outcome) -> str:
    hints = sum(one.spotted.is_hint for one in outcome.told)
    counts = Counter(one.spotted.effect for one in outcome.told if not one.spotted.is_hint)
    parts = [
        f"{units.count(counts[effect])} {words[counts[effect] != 1]}"
        for effect, words in _EFFECTS.items()
        if counts[effect]
    ]
    return ", ".join([*parts, *([counted(hints, "hint")] if hints else [])])


def _troubles(outcome: Outcome) -> str:
    broken = len({trouble.where.file for trouble in outcome.troubles})
    return f"; {counted(broken, 'file')} with errors" if broken else ""


def _fixes(outcome: Outcome) -> str:
    fixable = len(outcome.fixable)
    kinds = {one.kind for one in outcome.told if one.kind} - outcome.accepted
    asked = [kind for kind in (FixClass.EQUIVALENT, FixClass.MAY_CHANGE_RESULTS) if kind in kinds]
    more = sum(one.kind in asked for one in outcome.told)
    flags = [f"--accept {kind}" for kind in (*sorted(outcome.accepted - FREE), *asked)]
    paths = "" if outcome.words == (".",) else f" {shlex.join(outcome.words)}"
    if fixable:
        accepted = "".join(f" {flag}" for flag in flags[: len(outcome.accepted - FREE)])
        text = f"; {units.count(fixable)} can be fixed: quickfit check --fix{accepted}{paths}"
        return f"{text} ({units.count(more)} more with {' '.join(flags)})" if more else text
    if more:
        return f"; {units.count(more)} can be fixed: quickfit check --fix {' '.join(flags)}{paths}"
    return ""

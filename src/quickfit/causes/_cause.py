"""The record that a cause's file ends with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quickfit.findings import Evidence, Finding, Fix, Symptom
from quickfit.fixes.change import Change
from quickfit.fixes.script import Project
from quickfit.signals import Signals


@dataclass(frozen=True)
class Cause:
    """One reason why training is slow, stuck or slowing down.

    Args:
        title: the problem in a few words.
        symptom: what the user sees.
        detect: a finding where the run suffers from it, None where it does not.
        fix: the change that removes it; None where there is only advice on the page.
        changes: the edits that make the fix in the user's files, the best first; none where the
            code is not recognised.
        counts_start: the time before the first step is part of what it costs.
        resource: what an input with this cause has run out of; empty where measuring tells.
        name: the public id, from the file's name; set by the catalogue.
        page: the file's docstring; set by the catalogue.
    """

    title: str
    symptom: Symptom
    detect: Callable[[Signals], Finding | None]
    fix: Callable[[Finding, Signals], Fix | None] | None = None
    changes: Callable[[Finding, Signals, Project], list[Change]] | None = None
    counts_start: bool = False
    resource: str = ""
    name: str = ""
    page: str = ""


def waiting(signals: Signals) -> Evidence:
    """Return the fact that most causes about the input begin with."""
    wait = signals.wait
    detail = f"{wait.requests} steps, {wait.source}"
    return Evidence("step time spent waiting for input", wait.share, "share", detail)


def example(page: str, section: str) -> str:
    """Return the code under a heading of a cause's page, such as `Use instead`."""
    lines = page.splitlines()
    try:
        start = lines.index(f"{section}:")
    except ValueError:
        return ""
    block: list[str] = []
    for line in lines[start + 1 :]:
        if line.strip() and not line.startswith("    "):
            break
        block.append(line[4:])
    return "\n".join(block).strip("\n")

"""The record that a cause's file ends with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.errors import SignalMissing
from quickfit.findings import (
    Change,
    Evidence,
    Exhaustion,
    Finding,
    Fix,
    FixClass,
    Gain,
    Location,
    Spotted,
    Symptom,
)
from quickfit.liveness.reason import Mechanism
from quickfit.signals import Signals
from quickfit.signals.gains import is_at_least

# Below a tenth of the step time the gain is smaller than the noise between runs.
MIN_WAIT_SHARE = 0.10


@dataclass(frozen=True)
class Cause:
    """One reason why training is slow, stuck or slowing down.

    Args:
        title: the problem in a few words.
        symptom: what the user sees.
        detect: a finding where the run suffers from it, None where it does not; without it, only
            text tells.
        scan: what the text of one file of a program proves, for causes that text alone can prove.
        fix: the change that removes it; None where there is only advice on the page.
        advice: the fix of every run alike, in the place of `fix`; it shows the page's example.
        changes: the edits that make the fix in the user's files, the best first; none where the
            code is not recognised.
        live: the mechanisms that show it while a run does not move.
        is_general: it names a large part of the time that no other cause explains.
        says_more_than: causes whose finding is left out where this one explains most of it.
        resource: what an input with this cause has run out of; empty where measuring tells.
        name: the public id, from the file's name; set by the catalogue.
        page: the file's docstring; set by the catalogue.
    """

    title: str
    symptom: Symptom
    detect: Callable[[Signals], Finding | None] | None = None
    scan: Callable[[Module, Program], Iterable[Spotted]] | None = None
    fix: Callable[[Finding, Signals], Fix | None] | None = None
    advice: Fix | None = None
    changes: Callable[[Finding, Signals, Program], list[Change]] | None = None
    live: tuple[Mechanism, ...] = ()
    says_more_than: tuple[str, ...] = ()
    resource: str = ""
    is_general: bool = False
    name: str = ""
    page: str = ""


def waiting(signals: Signals) -> Evidence:
    """Return the fact that most causes about the input begin with."""
    wait = signals.wait
    detail = f"{wait.requests} steps, {wait.source}"
    return Evidence("step time spent waiting for input", wait.share, "share", detail)


def slowest_input_line(signals: Signals) -> tuple[Evidence, ...]:
    """Return the fact about the slowest line of the input's Python code, where it is certain."""
    line = signals.hot_input_line()
    if line is None or not line.is_certain:
        return ()
    what = "of the samples of the input code are at its slowest line"
    return (Evidence(what, line.share, "share", f"{line.samples} samples", line.location),)


def waits_for_input(signals: Signals) -> bool:
    """Tell whether a step waits for input for so long that its cause is worth naming.

    Raises:
        SignalMissing: it does as far as was seen, but that may be chance.
    """
    wait = signals.wait
    if wait.share < MIN_WAIT_SHARE:
        return False
    off = wait.error_share
    within = (wait.share - off, min(wait.share + off, 1.0))
    what = "steps, for how long they wait for input"
    return is_at_least(MIN_WAIT_SHARE, wait.share, within, what)


def silence_finding(signals: Signals, name: str) -> Finding | None:
    """Return what was said of a run when it was quiet for one reason; the last time counts.

    Raises:
        SignalMissing: it took no step, and nobody looked at it meanwhile.
    """
    if "quiet" not in signals.recording.run and not signals.process.rows("steps"):
        raise SignalMissing("a look at the run while it was quiet")
    told = [silence for silence in signals.silences if silence.cause == name]
    if not told:
        return None
    last = told[-1]
    came = "a step came later" if last.moved_again else "no step came after it"
    again = Evidence("quiet when this was said", last.quiet_s, "s", came)
    return Finding(
        summary=last.summary,
        where=last.location,
        evidence=(*last.evidence, again),
        gain=Gain(1.0, 1.0, 1.0, ""),
        cost_share=0.0,
        is_of_whole=True,
        is_past=last.moved_again,
    )


def advice(page: str, title: str) -> Fix:
    """Return a fix that is to be made by hand, with the example of a cause's page."""
    return Fix(title=title, kind=FixClass.SHOW_ONLY, example=example(page, "Use instead"))


def running_out(
    used: Exhaustion, summary: str, where: Location | None, *facts: Evidence
) -> Finding:
    """Return a finding about what runs out: it costs no time, until the run is ended by it."""
    return Finding(
        summary, where, facts, Gain(1.0, 1.0, 1.0, ""), 0.0, is_of_whole=True, exhaustion=used
    )


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

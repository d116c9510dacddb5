"""What blocks in turn are worth: medians, ratios with an interval, claims that hold or do not."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from data.cases import versions
from data.turns import Block, Result
from quickfit.lab.statistics import Measured, interval

ROW = "{:42} {:>9} {:>8}  {:>18} {:>18} {:>6} {:>6}  {}"
HEAD = ROW.format(
    "", "images/s", "CPU ms", "× reference, wall", "× reference, CPU", "other", "PSNR", ""
)
HOLDS, UNCLEAR, MISSED, UNKNOWN = "holds", "is unclear", "is missed", "not measured"


@dataclass(frozen=True)
class Claim:
    """What we say of ourselves: a case is at least so many times as fast as the best of others.

    Args:
        text: the claim in words.
        ours: the name of the case that is praised.
        others: names of the cases it is held against; the fastest of them counts.
        at_least: so many times as fast.
        counts_cpu: whether CPU time tells it as well as wall time does: on a busy machine better.
            Not where more cores are used to be faster.
    """

    text: str
    ours: str
    others: tuple[str, ...]
    at_least: float
    counts_cpu: bool = True


@dataclass(frozen=True)
class Verdict:
    """What the measurement says of a claim, against the fastest of the others."""

    claim: Claim
    outcome: str
    best: str = ""
    wall: Measured | None = None
    cpu: Measured | None = None

    def sentence(self) -> str:
        """Return it as a person reads it."""
        if self.wall is None or self.cpu is None:
            return f"{self.outcome:12} {self.claim.text}"
        text = f"{self.outcome:12} {self.claim.text}: {_span(self.wall)} by wall time"
        if self.claim.counts_cpu:
            text += f"; by CPU time it {_outcome(self.cpu, self.claim.at_least)}: {_span(self.cpu)}"
        return f"{text}; wanted {self.claim.at_least:g}, against {self.best}"


def show(title: str, results: Sequence[Result], reference: str) -> None:
    """Print the table of all cases, the reference's name in its title."""
    if not results:
        return
    print(f"\n{title} (reference: {reference})\n{HEAD}")
    known = {result.case.name: result for result in results}
    for result in sorted(results, key=lambda each: -rate(each)):
        print(_line(result, known.get(reference)))


def judge(claims: Sequence[Claim], results: Sequence[Result]) -> list[Verdict]:
    """Print and return what the measurement says of each claim on cases that were asked for."""
    known = {result.case.name: result for result in results}
    asked = [c for c in claims if c.ours in known and any(other in known for other in c.others)]
    verdicts = [_judged(claim, known) for claim in asked]
    print()
    for verdict in verdicts:
        print(verdict.sentence())
    return verdicts


def write(path: Path | None, note: str, parts: dict[str, Sequence[Any]]) -> None:
    """Write everything measured, with what it was measured on."""
    if path is None:
        return
    plain = {
        name: [each.as_json() if isinstance(each, Result) else asdict(each) for each in part]
        for name, part in parts.items()
    }
    path.write_text(json.dumps({"photos": note, "versions": versions(), **plain}, indent=1))


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """Return 1 where a claim is missed or could not be measured."""
    return int(any(verdict.outcome in (MISSED, UNKNOWN) for verdict in verdicts))


def rate(result: Result) -> float:
    """Return the median images per second; 0 without a block."""
    return statistics.median(block.rate for block in result.blocks) if result.blocks else 0.0


def ratios(ours: Sequence[Block], theirs: Sequence[Block]) -> tuple[Measured, Measured]:
    """Return how many times as fast ours is, round by round: by wall and by CPU time."""
    pairs = list(zip(ours, theirs, strict=False))
    wall = interval([mine.rate / other.rate for mine, other in pairs])
    return wall, interval([other.image_cpu_s / mine.image_cpu_s for mine, other in pairs])


def _judged(claim: Claim, known: dict[str, Result]) -> Verdict:
    ours = known.get(claim.ours)
    others = [known[name] for name in claim.others if name in known and known[name].blocks]
    if ours is None or not ours.blocks or not others:
        return Verdict(claim, UNKNOWN)
    best = max(others, key=rate)
    wall, cpu = ratios(ours.blocks, best.blocks)
    return Verdict(claim, _outcome(wall, claim.at_least), best.case.name, wall, cpu)


def _outcome(found: Measured, at_least: float) -> str:
    """Return whether all of the interval is above what was claimed, all below, or neither."""
    if found.low >= at_least:
        return HOLDS
    return MISSED if found.high < at_least else UNCLEAR


def _line(result: Result, reference: Result | None) -> str:
    if not result.blocks:
        return ROW.format(result.case.name, "–", "", "", "", "", "", result.failure)
    cpu_s = statistics.median(block.image_cpu_s for block in result.blocks)
    other = statistics.median(block.other_cores for block in result.blocks)
    wall = cpu = ""
    if reference is not None and reference.blocks:
        wall, cpu = (_span(found) for found in ratios(result.blocks, reference.blocks))
    psnr, kind = result.seen.get("psnr_db", ""), result.seen.get("dtype", "")
    note = result.failure or ("" if kind == "uint8" else kind)
    return ROW.format(
        result.case.name, f"{rate(result):,.0f}", f"{cpu_s * 1e3:.2f}", wall, cpu, f"{other:.1f}",
        psnr, note,
    )  # fmt: skip


def _span(found: Measured) -> str:
    return f"{found.mean:.2f} ({found.low:.2f}–{found.high:.2f})"

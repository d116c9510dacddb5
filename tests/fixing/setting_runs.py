"""Watched scripts and proven settings in one line, for the tests of `quickfit tune train.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quickfit.findings import Change, Edit, FixClass
from quickfit.fixing.setting_candidates import Watched
from quickfit.lab.statistics import interval
from quickfit.lab.verdict import Outcome, judge_gain
from quickfit.recording.reader import Recording
from quickfit.tuning.advice.candidates import ChangeCandidate
from quickfit.tuning.advice.change_table import ChangeKind
from quickfit.tuning.trials.settings import Setting

import builders
from builders import SCRIPT

# The places that `builders.recording` names: a batch in line 15, `compile` in 16, `fit` in 17.
SOURCE = builders.SOURCE.replace(", run_eagerly=True", "")


def recording(text: str = SOURCE, *, kind: str = "fit", **given: Any) -> Recording:
    """Return the recording of a script; `loop` are facts of its loop, the rest is the builder's."""
    facts = {"steps": 100, "epochs": 3, **given.pop("loop", {})}
    found = builders.recording(run={"script": SCRIPT, **given.pop("run", {})}, **given)
    tables = found.main.tables
    tables["loops"][0]["facts"] |= facts
    tables["loops"][0]["kind"] = kind
    tables["sources"][0]["text"] = text
    tables["callbacks"] = []
    return found


def watched(text: str = SOURCE, **given: Any) -> Watched:
    """Return a script that was watched; what can be given see `recording`."""
    return Watched(recording(text, **given), {SCRIPT: text})


def candidate(
    kind: ChangeKind = ChangeKind.XLA,
    name: str = "XLA (jit_compile)",
    *,
    path: Path | str = SCRIPT,
    **given: Any,
) -> ChangeCandidate:
    """Return a setting that puts a comment with its name into the third line of a file."""
    place = given.pop("place", (3, 0))
    edit = Edit(str(path), place, place, f"# {name}\n")
    change = Change(f"Try {name}", given.pop("claimed", FixClass.MAY_CHANGE_RESULTS), (edit,))
    setting = Setting(jit=True) if kind is ChangeKind.XLA else Setting()
    return ChangeCandidate(kind, name, given.pop("setting", setting), change)


def outcome(
    name: str,
    change: Change,
    *ratios: float,
    why: str = "",
    unit: str = "whole epochs",
    **given: Any,
) -> Outcome:
    """Return the proof of a change: accepted, unless there is a reason why not."""
    facts = {"results": "same batches", "took_s": 60.0, **given}
    measured = interval(ratios) if ratios else None
    is_accepted = not why and measured is not None
    return Outcome(
        name, "", change, None, change.kind, measured, is_accepted=is_accepted, why=why,
        unit=unit, **facts,
    )  # fmt: skip


FAST = (1.5, 1.52, 1.54)
FASTER = (2.0, 2.02, 2.04)
SAME = (1.0, 1.01, 1.0)
SLOW = (0.8, 0.8, 0.81)
NO_GAIN = "gains less than 1.05×"


class Proofs:
    """Stands for a machine: answers with ratios by the name of the change, and keeps claims.

    An answer is ratios, "interrupt", or why nothing was measured.
    """

    def __init__(self, ratios: dict[str, Any], **facts: Any) -> None:
        self.ratios, self.facts, self.claims = ratios, facts, []

    def prove(self, claim: Any) -> Outcome:
        self.claims.append(claim)
        answer = self.ratios.get(claim.cause, SAME)
        if answer == "interrupt":
            raise KeyboardInterrupt
        if isinstance(answer, str):
            return outcome(claim.cause, claim.change, why=answer, **self.facts)
        is_gain = len(answer) > 2 and min(answer) >= 1.05
        why = "" if is_gain else judge_gain(answer).why or NO_GAIN
        return outcome(claim.cause, claim.change, *answer, why=why, **self.facts)

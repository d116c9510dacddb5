"""Watched scripts and proven settings in one line, for the tests of `quickfit tune train.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quickfit.findings import Change, Edit, FixClass
from quickfit.fixing.tuned_offer import Offer
from quickfit.fixing.tuned_seen import Seen
from quickfit.fixing.tuned_trials import Tried
from quickfit.fixing.tuned_watched import Watched
from quickfit.lab.statistics import interval
from quickfit.lab.verdict import Outcome
from quickfit.recording.reader import Recording
from quickfit.tuning.advice.result import ChangeKind, LossChange

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


def offer(
    kind: ChangeKind = ChangeKind.XLA,
    name: str = "XLA (jit_compile)",
    *,
    path: Path | str = SCRIPT,
    **given: Any,
) -> Offer:
    """Return an offer to put a comment with its name into the third line of a file."""
    place = given.pop("place", (3, 0))
    edit = Edit(str(path), place, place, f"# {name}\n")
    change = Change(f"Try {name}", given.pop("claimed", FixClass.MAY_CHANGE_RESULTS), (edit,))
    setting = given.pop("setting", {"jit": True} if kind is ChangeKind.XLA else {})
    return Offer(kind, name, setting, given.pop("made", change), **given)


def outcome(
    of: Offer, *ratios: float, why: str = "", unit: str = "whole epochs", **given: Any
) -> Outcome:
    """Return the outcome of an offer: accepted, unless there is a reason why not."""
    change = of.change
    assert change is not None
    facts = {"results": "same batches", "took_s": 60.0, **given}
    measured = interval(ratios) if ratios else None
    is_accepted = not why and measured is not None
    return Outcome(
        of.name, "", change, None, change.kind, measured, is_accepted=is_accepted, why=why,
        unit=unit, **facts,
    )  # fmt: skip


def tried(
    of: Offer, *ratios: float, loss: tuple[float, float] | None = None, **given: Any
) -> Tried:
    """Return what came of an offer; `loss` with it and without, `compile_s` of its first step."""
    compile_s = given.pop("compile_s", 0.0)
    known = LossChange(1024, 0.9, *loss) if loss is not None else None
    seen = Seen(640e6, 40e6, 0.9, compile_s, known)
    why_not = given.pop("not_worth", "")
    return Tried(of, outcome(of, *ratios, **given), seen, why_not)


FAST = (1.5, 1.52, 1.54)
FASTER = (2.0, 2.02, 2.04)
SAME = (1.0, 1.01, 1.0)
SLOW = (0.8, 0.8, 0.81)
STEPS32 = offer(ChangeKind.STEPS, "32 steps per call", setting={"steps_per_execution": 32})
STEPS8 = offer(ChangeKind.STEPS, "8 steps per call", setting={"steps_per_execution": 8})
BATCH64 = offer(ChangeKind.BATCH, "batch 64 (×2)", setting={"batch": 64}, times=2)
BATCH128 = offer(ChangeKind.BATCH, "batch 128 (×4)", setting={"batch": 128}, times=4)
XLA = offer()

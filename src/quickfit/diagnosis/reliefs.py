"""What may relieve a loop that waits for its input, whichever cause has named the wait.

A cause looks for one pattern and edits it where its code is recognised. The account says only that
the steps wait; every change that shortens a wait is a candidate then. What is offered here is legal
by the text and fits into memory by what was recorded; whether it gains anything, a proof tells.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from quickfit.causes._shared.input_reliefs import Relief, reliefs_of
from quickfit.code import Module, Program
from quickfit.code.arrays import views_of, written_names
from quickfit.code.scopes import writes
from quickfit.code.syntax import argument, called_name, receiver_of
from quickfit.errors import SignalMissing
from quickfit.findings import MIN_GAIN, Finding, Gain, Location
from quickfit.signals import Signals
from quickfit.signals.caching import epoch_fits_memory, epochs_of
from quickfit.signals.gains import gain

# What batches are made of may be so much larger than they are.
OF_ITEMS = 4.0
# Threads share the cores with the step.
SPREAD = 0.6


@dataclasses.dataclass(frozen=True)
class Relieved:
    """A finding about a wait, with a change that may shorten it."""

    finding: Finding
    relief: Relief


def input_reliefs(
    findings: Sequence[Finding], signals: Signals, program: Program
) -> list[Relieved]:
    """Return what may relieve the input of the training loop, what promises most first."""
    finding = next((f for f in findings if _is_about_input(f, signals)), None)
    if finding is None:
        return []
    try:
        share = signals.wait.share
    except SignalMissing:
        return []
    place = _data_of(signals, program)
    if place is None or share <= 1.0 - 1.0 / MIN_GAIN:
        return []
    module, data, is_cut = place
    cores = int(signals.cores)
    found = []
    for relief in reliefs_of(program, module, data, cores=cores):
        times = OF_ITEMS if relief.is_of_items else 1.0
        if relief.keeps and (is_cut or not epoch_fits_memory(signals, relief.line, times=times)):
            continue
        expected = _expected(signals, share, relief, cores)
        where = Location(relief.change.files[0], relief.line)
        own = dataclasses.replace(finding, gain=expected, after_first=None, where=where)
        found.append(Relieved(own, relief))
    return sorted(found, key=lambda one: -one.finding.gain.likely)


def _is_about_input(finding: Finding, signals: Signals) -> bool:
    is_here = finding.loop == signals.loop.id and not finding.is_outside_training
    return is_here and "input_wait" in finding.claims and not finding.is_of_machine


def _data_of(signals: Signals, program: Program) -> tuple[Module, ast.expr, bool] | None:
    """Return what the loop is given, and whether it may stop before the end of that."""
    where = signals.loop.location
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return None
    if signals.loop.kind == "fit":
        calls = [c for c in module.calls("fit") if c.lineno <= where.line <= (c.end_lineno or 0)]
        data = argument(calls[0], "x", 0) if len(calls) == 1 else None
        steps = argument(calls[0], "steps_per_epoch", 12) if calls else None
        return (module, data, _is_any_number(module, steps)) if data is not None else None
    loops = [n for n in module.all(ast.For) if n.lineno == where.line]
    if len(loops) != 1:
        return None
    data = loops[0].iter
    while isinstance(data, ast.Call) and called_name(data) in ("enumerate", "tqdm", "take"):
        data = receiver_of(data) if called_name(data) == "take" else next(iter(data.args), None)
    leaves = [n for n in ast.walk(loops[0]) if isinstance(n, ast.Break | ast.Return)]
    is_cut = bool(leaves) or "take" in ast.unparse(loops[0].iter)
    # What is kept must stay as it is.
    names = views_of(loops[0], writes(loops[0].target))
    is_cut = is_cut or bool(written_names(ast.walk(loops[0])) & names)
    return (module, data, is_cut) if data is not None else None


def _is_any_number(module: Module, steps: ast.expr | None) -> bool:
    """Tell whether a number of steps is not made from the length of the data."""
    if steps is None:
        return False
    names = {n.id for n in ast.walk(steps) if isinstance(n, ast.Name)}
    values = [
        s.value
        for s in module.all(ast.Assign)
        if any(isinstance(t, ast.Name) and t.id in names for t in s.targets)
    ]
    nodes = [n for value in (steps, *values) for n in ast.walk(value)]
    divided = [
        n for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv | ast.Div)
    ]
    is_length = any(isinstance(n, ast.Call) and called_name(n) == "len" for n in nodes)
    # Divided twice, it is a part of what there is.
    return len(divided) > 1 or not (divided or is_length)


def _expected(signals: Signals, share: float, relief: Relief, cores: int) -> Gain:
    """Return the gain where the wait goes; the cautious end leaves half of it."""
    if relief.keeps:
        passes = epochs_of(signals)
        likely = 1.0 - share * (1.0 - 1.0 / passes)
        basis = f"from the second of {passes} epochs on, the data comes from memory"
        return gain(1.0, (1.0 - share / 2, likely, 1.0 - share), basis)
    gone = share * (1.0 - 1.0 / cores)
    basis = f"the work of the input spread over {cores} cores, which it shares with the model"
    return gain(1.0, (1.0, 1.0 - SPREAD * gone, 1.0 - gone), basis)

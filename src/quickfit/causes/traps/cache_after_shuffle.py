"""A cache keeps the order of the first epoch: the shuffle in front of it runs once.

What goes wrong: `cache` keeps the elements in the order in which they came. Behind a `shuffle` that
is the order of the first epoch, and every later epoch gets it again. The model learns from the same
sequence of batches all along, and mostly ends a little worse than with another order each time.

How it shows: `shuffle` in front of `cache`, and no other `shuffle` behind it.

Example:
    ds = ds.shuffle(10_000).cache().batch(32)

Use instead:
    ds = ds.cache().shuffle(10_000).batch(32)

Fix class: may-change-results. The epochs get orders of their own.

When it is wrong: where one order is meant, as for a split: `reshuffle_each_iteration=False` says
so, and nothing is reported. Nor is it for data to validate or test with.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.dataset_chains import reordered
from quickfit.causes._shared.dataset_order import (
    is_for_checking,
    only_chain,
    reshuffles,
    stages_behind,
)
from quickfit.code import Module, Program
from quickfit.code.datasets import PARTING, Stage, chain_of
from quickfit.findings import Change, Effect, FixClass, Spotted, Symptom


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report every `cache` that keeps an order."""
    for call in module.calls("cache") if "shuffle" in module.text else ():
        stage = _shuffled(program, module, call)
        if stage is None or is_for_checking(module, call):
            continue
        if stages_behind(program, module, call, "shuffle", "take", "skip"):
            continue
        yield Spotted(
            module.span(call),
            "`cache` keeps the order of the first epoch: the `shuffle` in front of it runs once",
            Effect.WORSE,
            related=((stage.module.span(stage.call), "shuffled here, once"),),
            change=_change(module, call, stage),
        )


def _shuffled(program: Program, module: Module, call: ast.Call) -> Stage | None:
    chain = only_chain(program, module, call) if isinstance(call.func, ast.Attribute) else None
    before = chain.before(call) if chain is not None else ()
    stages = list(before[max((i for i, s in enumerate(before) if s.name == "cache"), default=0) :])
    if any(stage.name in PARTING for stage in stages):
        return None  # one order may be wanted for a split
    found = [stage for stage in stages if reshuffles(program, stage)]
    return found[-1] if found else None


def _change(module: Module, call: ast.Call, stage: Stage) -> Change | None:
    chain = chain_of(module, call) if stage.module is module else None
    found = [step.call for step in chain.steps] if chain is not None else []
    if chain is None or call not in found or stage.call not in found:
        return None
    begin, end = found.index(stage.call), found.index(call)
    if end != begin + 1:
        return None
    edits = reordered(module, chain, begin, [end, begin])
    kind = FixClass.MAY_CHANGE_RESULTS
    return Change("Shuffle behind the cache", kind, edits) if edits else None


CAUSE = Cause(title="A cache keeps one order", symptom=Symptom.WRONG, scan=scan)

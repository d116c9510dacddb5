"""Batches are shuffled, not elements: every epoch has the same batches.

What goes wrong: `shuffle` behind `batch` mixes whole batches. The elements of a batch stay together
in every epoch; of files that are read in order, a batch may hold one class alone. Batch
normalisation and the gradient see the same groups all along, and the model mostly ends worse. The
buffer counts batches too: `shuffle(1000)` keeps 1,000 batches in memory.

How it shows: `shuffle` behind `batch`, with no shuffle in front of the `batch` and no other `batch`
behind it.

Example:
    ds = ds.batch(32).shuffle(1_000)

Use instead:
    ds = ds.shuffle(1_000).batch(32)

Fix class: may-change-results. The batches are others then.

When it is wrong: for windows of text or time, where a `batch` makes the sequences: another `batch`
follows, and nothing is reported. Nor is it for data whose elements were shuffled before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.dataset_chains import reordered
from quickfit.causes._shared.dataset_order import is_for_checking, only_chain, stages_behind
from quickfit.code import Module, Program
from quickfit.code.datasets import BATCHING, MIXING, Chain, Stage, chain_of
from quickfit.code.syntax import argument
from quickfit.findings import Change, Effect, FixClass, Spotted, Symptom

# Give their elements in another order, or of a kind that this cause knows nothing of.
_SOURCES = (
    *("tensorflow.data.Dataset.list_files", "tensorflow.data.Dataset.sample_from_datasets"),
    *("tensorflow.data.Dataset.from_generator", "tensorflow_datasets.load"),
)


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report every `shuffle` of batches."""
    if "batch(" not in module.text:
        return
    for call in module.calls("shuffle"):
        if not isinstance(call.func, ast.Attribute):
            continue
        chain = only_chain(program, module, call)
        stage = _batched(program, call, chain) if chain is not None and chain.is_whole else None
        if stage is None or is_for_checking(module, call):
            continue
        if stages_behind(program, module, call, *BATCHING, "unbatch", "take"):
            continue
        yield Spotted(
            module.span(call),
            "this `shuffle` mixes whole batches: the same elements are together in every epoch",
            Effect.WORSE,
            related=((stage.module.span(stage.call), "batched here"),),
            change=_change(module, call, stage),
        )


def _batched(program: Program, call: ast.Call, chain: Chain) -> Stage | None:
    before = chain.before(call)
    batches = [stage for stage in before if stage.name in BATCHING]
    if len(batches) != 1 or any(stage.name in MIXING or stage.name in _SOURCES for stage in before):
        return None
    stage = batches[0]
    size = argument(stage.call, "batch_size", 0)
    is_one = program.literal(stage.module, size, stage.frame) == 1
    return None if is_one else stage


def _change(module: Module, call: ast.Call, stage: Stage) -> Change | None:
    chain = chain_of(module, call) if stage.module is module else None
    found = [step.call for step in chain.steps] if chain is not None else []
    if chain is None or call not in found or stage.call not in found:
        return None
    begin, end = found.index(stage.call), found.index(call)
    edits = reordered(module, chain, begin, [end, *range(begin, end)])
    kind = FixClass.MAY_CHANGE_RESULTS
    note = "The buffer counts elements then: make it larger, if they fit into memory."
    return Change("Shuffle in front of the batch", kind, edits, note=note) if edits else None


CAUSE = Cause(title="Whole batches are shuffled", symptom=Symptom.WRONG, scan=scan)

"""Data is split behind a shuffle that gives every epoch another order.

What goes wrong: `shuffle` mixes anew in every epoch, and so does a `seed`, which only makes the
orders come again in the next run. `take(n)` and `skip(n)` behind it cut another order each time:
what was validated with in one epoch is trained on in the next. The model has seen all of the
validation data, and its scores say nothing about new data.

How it shows: `take` and `skip` of the same number stand behind one `shuffle` without
`reshuffle_each_iteration=False`.

Example:
    ds = ds.shuffle(10_000)
    train, val = ds.skip(2_000), ds.take(2_000)

Use instead:
    ds = ds.shuffle(10_000, reshuffle_each_iteration=False)
    train, val = ds.skip(2_000).shuffle(8_000), ds.take(2_000)

Fix class: repairs. The one order is kept for the split; a `shuffle` of the training part behind it
gives its epochs an order of their own.

When it is wrong: where both parts are gone through once and no more. With a `cache` between, or
files whose order is drawn once, nothing is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes._shared.dataset_order import only_chain, reshuffles
from quickfit.code import Module, Program
from quickfit.code.datasets import PARTING, SETTLING, Chain, Stage
from quickfit.code.edits import with_keyword
from quickfit.code.syntax import argument
from quickfit.findings import Change, Effect, FixClass, Span, Spotted, Symptom


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report every shuffle that a split stands behind."""
    if "shuffle" not in module.text:
        return
    kept = [(c, only_chain(program, module, c)) for c in module.calls("take")]
    told: set[ast.Call] = set()
    for skip in module.calls("skip"):
        size, behind = argument(skip, "count", 0), only_chain(program, module, skip)
        stage = _mixed(program, skip, behind)
        if size is None or stage is None or stage.call in told:
            continue
        for take, other in kept:
            first = argument(take, "count", 0)
            same = first is not None and ast.dump(first) == ast.dump(size)
            if same and _mixed(program, take, other) == stage:
                told.add(stage.call)
                yield _spotted(stage, module.span(take), module.span(skip))
                break


def _mixed(program: Program, call: ast.Call, chain: Chain | None) -> Stage | None:
    """Return the shuffle that decides which elements a part gets, in every epoch anew."""
    before = list(chain.before(call)) if chain is not None else []
    for stage in reversed(before):
        if stage.name in PARTING | SETTLING:
            return None
        if stage.name == "shuffle":
            return stage if reshuffles(program, stage) else None
    return None


def _spotted(stage: Stage, take: Span, skip: Span) -> Spotted:
    edit = with_keyword(
        stage.module, stage.call, "reshuffle_each_iteration", "False", is_by_name_only=True
    )
    return Spotted(
        stage.module.span(stage.call),
        "this `shuffle` mixes anew in every epoch, and the split behind it with it: training sees"
        " the elements that are kept back",
        Effect.WRONG,
        related=((take, "one part"), (skip, "the other part")),
        change=Change(
            "Keep one order for the split",
            FixClass.REPAIRS,
            (edit,),
            note="Shuffle the part that is trained on behind the split.",
        )
        if edit is not None
        else None,
    )


CAUSE = Cause(title="A split moves with every epoch", symptom=Symptom.WRONG, scan=scan)

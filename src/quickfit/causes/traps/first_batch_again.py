"""`next(iter(dataset))` in a loop begins the dataset anew in every turn.

What goes wrong: `iter` starts at the first element. A loop that takes `next(iter(ds))` gets the
first batch in every turn and trains on it alone; with a `shuffle` it fills the buffer for one batch
in each turn, which is slow.

How it shows: the iterator is made in the loop, of a dataset that is made in front of it, and the
turn trains on what it gives.

Example:
    for step in range(1000):
        x, y = next(iter(ds))
        train_step(x, y)

Use instead:
    for x, y in ds.repeat().take(1000):
        train_step(x, y)

Fix class: show-only.

When it is wrong: where one batch is meant, to see whether a model can learn it by heart. Then it is
taken in front of the loop.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.code import Module, Program
from quickfit.code.conditions import draws
from quickfit.code.datasets import chains, is_dataset
from quickfit.code.scopes import writes
from quickfit.code.syntax import name_of
from quickfit.findings import Effect, Spotted, Symptom

_TRAINS = re.compile(r"^(train|train_step|train_on_batch|apply_gradients|fit|optimi[sz]e.*)$")


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the iterators that begin anew in every turn of a training."""
    for call in module.calls("next") if "iter(" in module.text else ():
        made = call.args[0] if len(call.args) == 1 else None
        if not isinstance(made, ast.Call) or name_of(made.func) != "iter" or len(made.args) != 1:
            continue
        loops, data = module.loops(call), made.args[0]
        if not loops or not isinstance(data, ast.Name) or data.id in writes(*loops[0].body):
            continue
        inside = [n for n in ast.walk(loops[0]) if isinstance(n, ast.Call)]
        trains = any(_TRAINS.match(name_of(n.func)) for n in inside)
        if trains and not draws(loops[0]) and is_dataset(program, module, data):
            is_mixed = any(chain.has("shuffle") for chain in chains(program, module, data))
            yield Spotted(
                module.span(call),
                "every turn begins the dataset anew: it fills the `shuffle` for one batch"
                if is_mixed
                else "every turn begins the dataset anew: all train on the first batch",
                Effect.SLOW if is_mixed else Effect.WRONG,
            )


CAUSE = Cause(title="Every turn takes the first batch", symptom=Symptom.WRONG, scan=scan)

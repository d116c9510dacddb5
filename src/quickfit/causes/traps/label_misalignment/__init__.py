"""Examples and labels are put into another order separately, and meet as wrong pairs.

What goes wrong: two lists, or two datasets, belong together only by their order. Where one is
shuffled, filtered or sorted and the other is not (or each for itself), the third picture meets the
label of some other one. Shapes and types fit, so there is no error; the model learns noise.

How it shows: two things are used together (`zip`, `from_tensor_slices((x, y))`, `fit(x, y)`), one
of them is named as labels are, and since they were made one of them was shuffled or filtered alone.
Or two folders are listed and only one list is sorted: the other comes in the order of the disk.

Example:
    random.shuffle(paths)
    dataset = tf.data.Dataset.from_tensor_slices((paths, labels))

Use instead:
    dataset = tf.data.Dataset.from_tensor_slices((paths, labels))
    dataset = dataset.shuffle(len(paths))

Fix class: show only. What belongs together is best put into one list, or one dataset, before
anything changes its order.

When it is wrong: where labels are mixed up on purpose, to see what a model makes of noise. Lists
whose items are all alike, and shuffles that are seeded alike, are not reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.causes.traps.label_misalignment.lineage import Parting
from quickfit.causes.traps.label_misalignment.text import ZIP, disorder, partings
from quickfit.code import Module, Program
from quickfit.code.datasets import Stage
from quickfit.findings import Effect, Spotted, Symptom


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report what parts examples from their labels."""
    for call in module.calls("zip"):
        if program.called(module, call) == ZIP:
            found = disorder(program, module, call)
            if found is not None:
                yield _of_datasets(module, call, found.stage, drops=found.drops)
    seen: set[ast.AST] = set()
    for parting in partings(program, module):
        if parting.at not in seen:
            seen.add(parting.at)
            yield _of_lists(module, parting)


def _of_datasets(module: Module, call: ast.Call, stage: Stage, *, drops: bool) -> Spotted:
    name = stage.name.rsplit(".", 1)[-1]
    does = "leaves out elements of" if drops else "shuffles"
    is_here = stage.module is module
    where = f" at line {stage.call.func.end_lineno}" if is_here else ""
    return Spotted(
        where=module.span(call),
        summary=f"`{name}`{where} {does} one of the two datasets alone: `zip` pairs examples with"
        " labels of others",
        effect=Effect.WRONG,
        related=((stage.module.span(stage.call), "one of the two goes through this"),),
    )


def _of_lists(module: Module, parting: Parting) -> Spotted:
    return Spotted(
        where=module.span(parting.at),
        summary=parting.summary,
        effect=Effect.WRONG,
        related=((module.span(parting.used), "used together here"),),
    )


CAUSE = Cause(
    title="Labels come in another order than their examples", symptom=Symptom.WRONG, scan=scan
)

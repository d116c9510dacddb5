"""Tells which numbers of steps are numbers of samples."""

from __future__ import annotations

import ast

from quickfit.program import Module, Program
from quickfit.program.batch_functions import Batched
from quickfit.program.fitting import Feed
from quickfit.program.sameness import is_among, is_same
from quickfit.program.values import Item, Made, Member, Values


def counts_samples(program: Program, feed: Feed, steps: ast.expr, data: Batched) -> bool:
    """Tell whether a number of steps is that of the samples which the data is made of."""
    module = feed.fitting.module
    if any(is_length(program, module, steps, sample) for sample in data.samples):
        return True
    only = program.only(module, steps)  # `flow.samples`, `flow.n`
    if not isinstance(only, Member) or only.name not in ("samples", "n"):
        return False
    return data.lasts == "epoch" and is_among((only.of,), program.values(module, feed.data))


def is_length(
    program: Program, module: Module, steps: ast.expr, sample: tuple[Module, ast.expr]
) -> bool:
    """Tell whether a number is `len(sample)` or `sample.shape[0]`, also through a name."""
    values = program.values(module, steps)
    return bool(values) and all(_is_length_value(program, v, sample) for v in values)


def _is_length_value(program: Program, value: object, sample: tuple[Module, ast.expr]) -> bool:
    if isinstance(value, Made) and value.maker == "builtins.len" and len(value.call.args) == 1:
        return is_same(program, (value.module, value.call.args[0]), sample)
    if not isinstance(value, Item) or value.index != 0 or not isinstance(value.of, Member):
        return False
    of: Values = (value.of.of,)
    return value.of.name == "shape" and is_among(of, program.values(*sample))

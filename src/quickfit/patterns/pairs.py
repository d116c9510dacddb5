"""Datasets that are zipped to pairs: what puts one of them into another order than the other."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quickfit.patterns.label_names import is_label, names_in
from quickfit.program import Module, Program, argument
from quickfit.program.datasets import Chain, Stage
from quickfit.program.frames import Frame
from quickfit.program.situations import chains_in, frames_of, given_for
from quickfit.program.values import Literal

ZIP = "tensorflow.data.Dataset.zip"
FILES = "tensorflow.data.Dataset.list_files"
# Give the same again and again, or nothing that has an order.
_CONSTANT = ("from_tensors", "range", "counter", "random")
_FILLS = ("zeros", "ones", "fill", "full", "zeros_like", "ones_like", "full_like", "repeat")
_IGNORES = ("tensorflow.data.experimental.ignore_errors",)


@dataclass(frozen=True)
class Disorder:
    """A stage of one dataset that the other has not.

    Args:
        stage: the stage.
        drops: it leaves elements out; else it gives them in another order.
    """

    stage: Stage
    drops: bool


def disorder(program: Program, module: Module, call: ast.Call) -> Disorder | None:
    """Return what surely takes the pairs of a `zip` apart, where one half is labels by name."""
    parts = _parts(call)
    if len(parts) != 2:
        return None
    for frame in frames_of(program, module, call):
        found = [chains_in(program, module, part, frame) for part in parts]
        single = [each[0] for each in found if each is not None and len(each) == 1]
        if len(single) == 2 and all(chain.is_whole for chain in single):
            disordered = _disorder(program, (module, frame), parts, single)
            if disordered is not None:
                return disordered
    return None


def _disorder(
    program: Program,
    at: tuple[Module, Frame | None],
    parts: list[ast.expr],
    found: list[Chain],
) -> Disorder | None:
    one, other = found
    labels = [_is_labels(program, at, *pair) for pair in zip(parts, found, strict=True)]
    if labels.count(True) != 1 or any(_is_constant(program, chain) for chain in found):
        return None
    return _dropping(program, one, other) or _shuffling(program, one, other)


def _parts(call: ast.Call) -> list[ast.expr]:
    if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple | ast.List):
        return call.args[0].elts
    return call.args


def _is_labels(
    program: Program, at: tuple[Module, Frame | None], part: ast.expr, chain: Chain
) -> bool:
    source = chain.stages[0]
    written = [*source.call.args, *(k.value for k in source.call.keywords)]
    given = [e for w in written for _, e in given_for(program, source.module, w, source.frame)]
    if any(isinstance(each, ast.Tuple | ast.Dict) for each in given):
        return False  # it has labels of its own
    parts = [e for _, e in given_for(program, at[0], part, at[1])]
    return is_label(names_in([*parts, *given]))


def _is_constant(program: Program, chain: Chain) -> bool:
    source = chain.stages[0]
    if source.name.rsplit(".", 1)[-1].lower() in _CONSTANT:
        return True
    given = source.call.args[0] if source.call.args else None
    maker = program.maker(source.module, given, source.frame).rsplit(".", 1)[-1]
    return maker in _FILLS or isinstance(given, ast.BinOp)


def _dropping(program: Program, one: Chain, other: Chain) -> Disorder | None:
    found = [[s for s in chain.stages if _drops(program, s)] for chain in (one, other)]
    if bool(found[0]) == bool(found[1]):
        return None
    return Disorder((found[0] or found[1])[0], drops=True)


def _drops(program: Program, stage: Stage) -> bool:
    if stage.name == "apply" and stage.call.args:
        return program.maker(stage.module, stage.call.args[0], stage.frame) in _IGNORES
    return stage.name in ("filter", "ignore_errors")


def _shuffling(program: Program, one: Chain, other: Chain) -> Disorder | None:
    first, second = (_shuffles(program, chain) for chain in (one, other))
    if first is None or second is None:
        return None
    shared = {stage.call for stage in first} & {stage.call for stage in second}
    if shared or len(first) > 1 or len(second) > 1:
        return None  # the same draw, or more of them than are easily compared
    if bool(first) != bool(second):
        return Disorder((first or second)[0], drops=False)
    if not first:
        return None
    seeds = _seed(program, first[0]), _seed(program, second[0])
    if any(seed is None for seed in seeds) or seeds[0] == seeds[1] != (None,):
        return None
    return Disorder(second[0], drops=False)


def _shuffles(program: Program, chain: Chain) -> list[Stage] | None:
    """Return the stages that shuffle; None where one of them may or may not."""
    found: list[Stage] = []
    for stage in chain.stages:
        if stage.name == FILES:
            given = argument(stage.call, "shuffle", 1)
            wanted = (
                program.only(stage.module, given, stage.frame)
                if given is not None
                else Literal(True)
            )
            if not isinstance(wanted, Literal):
                return None
            found += [stage] if wanted.value or wanted.value is None else []
        elif stage.name == "shuffle":
            found.append(stage)
    return found


def _seed(program: Program, stage: Stage) -> tuple[object] | None:
    """Return the seed of a shuffle in a tuple, `(None,)` without one; None: it is not known."""
    given = argument(stage.call, "seed", 2 if stage.name == FILES else 1)
    if given is None:
        return None if any(k.arg is None for k in stage.call.keywords) else (None,)
    only = program.only(stage.module, given, stage.frame)
    return (only.value,) if isinstance(only, Literal) else None

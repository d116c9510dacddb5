"""The ways to make a model smaller that are tried, in their order."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit import units
from quickfit.compression.shrinking.targets import Demand, Target

SEPARABLE, PRUNED, FLOPS, SPEED = "separable", "pruned", "flops", "speed"
# Files for LiteRT. The first is what a Keras model is saved as when it is chosen.
FILE_KINDS = ("float32", "float16", "dynamic", "int8")
FILE_TITLES = {
    "float32": "LiteRT, float32",
    "float16": "LiteRT, float16 weights",
    "dynamic": "LiteRT, int8 weights",
    "int8": "LiteRT, int8",
    "int4": "LiteRT, int4 weights",
}
# Kinds that are recipes of ai-edge-quantizer, by their names there.
BY_RECIPE = {"int4": "weights-int4"}
TRAINED = "int8-trained"
# What was just fast enough once is a little too slow the next time.
_MARGIN = 1.05


@dataclass(frozen=True)
class Step:
    """One transformation: its kind, and how far it goes."""

    kind: str
    amount: float


@dataclass(frozen=True)
class Recipe:
    """A way to a smaller Keras model.

    Args:
        name: also that of its file.
        title: what it is, in words.
        steps: one after the other.
    """

    name: str
    title: str
    steps: tuple[Step, ...]


def recipes(target: Target, flops: int | None = None) -> list[Recipe]:
    """Return what is tried, the most promising first: time may run out.

    Where a number of operations or a speed is asked for, pruning goes to it.

    Args:
        target: what is to be reached.
        flops: operations of the original, where they are known.
    """
    found = [
        _separable(1),
        _pruned(0.5),
        _pruned(0.25),
        Recipe(
            "separable-1-pruned-25",
            "separable convolutions, 25 % of the channels removed",
            (Step(SEPARABLE, 1), Step(PRUNED, 0.25)),
        ),
        _separable(2),
    ]
    wanted = [one for demand in target.demands if (one := _pruned_to(demand, flops)) is not None]
    slow = [one for one in wanted if one.steps[0].kind == SPEED]  # many models are made and timed
    return [*(one for one in wanted if one not in slow), *found, *slow]


def only_separable(some: list[Recipe]) -> list[Recipe]:
    """Return those that rewrite convolutions and do nothing else."""
    return [one for one in some if all(step.kind == SEPARABLE for step in one.steps)]


def file_kinds(target: Target) -> tuple[str, ...]:
    """Return the kinds of LiteRT files to make; where size counts, the smallest one too."""
    wants_size = target.aim == "size" or any(one.quantity == "size" for one in target.demands)
    return (*FILE_KINDS, *BY_RECIPE) if wants_size else FILE_KINDS


def file_name(parent: str, kind: str) -> str:
    """Return the name of a LiteRT candidate."""
    return f"{parent}-{kind}"


def _separable(depth_multiplier: int) -> Recipe:
    title = "separable convolutions"
    if depth_multiplier > 1:
        title += f", {depth_multiplier} filters per channel"
    return Recipe(f"separable-{depth_multiplier}", title, (Step(SEPARABLE, depth_multiplier),))


def _pruned(ratio: float) -> Recipe:
    percent = f"{ratio:.0%}".removesuffix("%")
    return Recipe(
        f"pruned-{percent}", f"{percent} % of the channels removed", (Step(PRUNED, ratio),)
    )


def _pruned_to(demand: Demand, flops: int | None) -> Recipe | None:
    """Return how to prune until a demand is met; None where pruning cannot aim at it."""
    if demand.quantity == "time" and demand.is_share:
        times = units.factor(1 / demand.most).removesuffix("×")
        title = f"pruned until it is {times}× as fast"
        return Recipe(f"pruned-{times}x", title, (Step(SPEED, _MARGIN / demand.most),))
    share = demand.most if demand.is_share else demand.most / flops if flops else 1.0
    if demand.quantity != "flops" or share >= 1:
        return None
    percent = f"{100 * share:.0f}"
    title = f"pruned to {percent} % of the operations"
    return Recipe(f"pruned-to-{percent}", title, (Step(FLOPS, share),))

"""The ways to make a model smaller that are tried, in their order."""

from __future__ import annotations

from dataclasses import dataclass

from quickfit.compression.shrinking.targets import Target

SEPARABLE, PRUNED, FLOPS = "separable", "pruned", "flops"
# Files for LiteRT. The first is what a Keras model is saved as when it is chosen.
FILE_KINDS = ("float32", "float16", "dynamic", "int8")
FILE_TITLES = {
    "float32": "LiteRT, float32",
    "float16": "LiteRT, float16 weights",
    "dynamic": "LiteRT, int8 weights",
    "int8": "LiteRT, int8",
}
TRAINED = "int8-trained"


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


def recipes(target: Target) -> list[Recipe]:
    """Return what is tried, the most promising first: time may run out.

    Where a number of operations is asked for, pruning goes straight to it.
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
    wanted = [one.most for one in target.demands if one.quantity == "flops" and one.is_share]
    return [*(_with_flops(share) for share in wanted), *found]


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


def _with_flops(share: float) -> Recipe:
    percent = f"{100 * share:.0f}"
    return Recipe(
        f"pruned-to-{percent}", f"pruned to {percent} % of the operations", (Step(FLOPS, share),)
    )

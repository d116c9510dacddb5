"""The ways to make a model smaller that are tried, in their order, and the models made by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit import units
from quickfit.compression.calibration import Samples
from quickfit.compression.copying import SkippedLayer, TransformedModel, compile_like
from quickfit.compression.shrinking.evidence import Lessons
from quickfit.compression.shrinking.targets import Demand, Target
from quickfit.compression.weighing.benchmark import count_parameters
from quickfit.errors import ModelError

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
class RecipeStep:
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
    steps: tuple[RecipeStep, ...]


def shrink_recipes(target: Target, flops: int | None = None) -> list[Recipe]:
    """Return what is tried, the most promising first: time may run out.

    Where a number of operations or a speed is asked for, pruning goes to it.

    Args:
        target: what is to be reached.
        flops: operations of the original, where they are known.
    """
    found = [
        _separable_recipe(1),
        _pruning_recipe(0.5),
        _pruning_recipe(0.25),
        Recipe(
            "separable-1-pruned-25",
            "separable convolutions, 25 % of the channels removed",
            (RecipeStep(SEPARABLE, 1), RecipeStep(PRUNED, 0.25)),
        ),
        _separable_recipe(2),
    ]
    wanted = [
        one for demand in target.demands if (one := _recipe_for_demand(demand, flops)) is not None
    ]
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


def _separable_recipe(depth_multiplier: int) -> Recipe:
    title = "separable convolutions"
    if depth_multiplier > 1:
        title += f", {depth_multiplier} filters per channel"
    return Recipe(
        f"separable-{depth_multiplier}", title, (RecipeStep(SEPARABLE, depth_multiplier),)
    )


def _pruning_recipe(ratio: float) -> Recipe:
    percent = f"{ratio:.0%}".removesuffix("%")
    return Recipe(
        f"pruned-{percent}", f"{percent} % of the channels removed", (RecipeStep(PRUNED, ratio),)
    )


def _recipe_for_demand(demand: Demand, flops: int | None) -> Recipe | None:
    """Return how to prune until a demand is met; None where pruning cannot aim at it."""
    if demand.quantity == "time" and demand.is_share:
        times = units.factor(1 / demand.most).removesuffix("×")
        title = f"pruned until it is {times}× as fast"
        return Recipe(f"pruned-{times}x", title, (RecipeStep(SPEED, _MARGIN / demand.most),))
    share = demand.most if demand.is_share else demand.most / flops if flops else 1.0
    if demand.quantity != "flops" or share >= 1:
        return None
    percent = f"{100 * share:.0f}"
    title = f"pruned to {percent} % of the operations"
    return Recipe(f"pruned-to-{percent}", title, (RecipeStep(FLOPS, share),))


# Models are `Any`: Keras has no types of its own.

# So many layers are named where nothing could be done.
_MOST_SKIPPED_NAMES = 3


@dataclass(frozen=True)
class ModelMaker:
    """Makes smaller models of one that it only reads.

    Args:
        model: the original.
        calibration: samples that show what it sees.
        lessons: for the short training; None where there are no labels.
        seed: of everything.
        measure: tells the seconds of a model, for pruning to a speed.
    """

    model: Any
    calibration: Samples
    lessons: Lessons | None
    seed: int = 0
    measure: Callable[[Any], float] | None = None

    def made(self, recipe: Recipe) -> TransformedModel:
        """Make one.

        Raises:
            ModelError: nothing of the model can be made smaller in this way.
        """
        student = self.model
        notes: list[str] = []
        skipped: list[SkippedLayer] = []
        for step in recipe.steps:
            made = self._step(student, step)
            if count_parameters(made.model) >= count_parameters(student):
                raise ModelError(_unchanged_error(step, made.skipped))
            student = made.model
            notes += made.notes
            skipped += made.skipped
        return self._taught(TransformedModel(student, tuple(notes), tuple(dict.fromkeys(skipped))))

    def _step(self, model: Any, step: RecipeStep) -> TransformedModel:
        if step.kind == SEPARABLE:
            from quickfit.compression.separable import rewritten

            depth = int(step.amount)
            return rewritten(model, self.calibration, depth_multiplier=depth, seed=self.seed)
        from quickfit.compression.pruning import pruned

        goal: dict[str, Any] = {"ratio": step.amount}
        if step.kind == FLOPS:
            goal = {"flops": step.amount}
        elif step.kind == SPEED:
            goal = {"speed": step.amount, "measure": self.measure}
        return pruned(model, self.calibration, **goal, seed=self.seed)

    def _taught(self, made: TransformedModel) -> TransformedModel:
        if self.lessons is None:
            compile_like(self.model, made.model)  # for an evaluate() that calls model.evaluate()
            return made
        try:
            taught = self.lessons.taught(made.model)
        except ModelError as error:  # it is a candidate all the same
            note = f"It was not trained: {error}"
            return TransformedModel(made.model, (*made.notes, note), made.skipped)
        return TransformedModel(taught.model, (*made.notes, *taught.notes), made.skipped)


def _unchanged_error(step: RecipeStep, skipped: tuple[SkippedLayer, ...]) -> str:
    what = "no convolution can be rewritten" if step.kind == SEPARABLE else "no channel can go"
    reasons = "; ".join(f"{one.layer}: {one.reason}" for one in skipped[:_MOST_SKIPPED_NAMES])
    more = (
        f"; and {len(skipped) - _MOST_SKIPPED_NAMES} more"
        if len(skipped) > _MOST_SKIPPED_NAMES
        else ""
    )
    return f"{what} ({reasons}{more})" if reasons else what

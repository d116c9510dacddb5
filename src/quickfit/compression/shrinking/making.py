"""Makes the smaller Keras models: one transformation after the other, then a short training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.compression.calibration import Samples
from quickfit.compression.made import Made, Skipped
from quickfit.compression.shrinking.learning import Lessons
from quickfit.compression.shrinking.plan import FLOPS, SEPARABLE, SPEED, Recipe, Step
from quickfit.compression.walking.compiling import compile_like
from quickfit.errors import ModelError

# Models are `Any`: Keras has no types of its own.

# So many layers are named where nothing could be done.
_NAMED = 3


@dataclass(frozen=True)
class Maker:
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

    def made(self, recipe: Recipe) -> Made:
        """Make one.

        Raises:
            ModelError: nothing of the model can be made smaller in this way.
        """
        student = self.model
        notes: list[str] = []
        skipped: list[Skipped] = []
        for step in recipe.steps:
            made = self._step(student, step)
            if parameters(made.model) >= parameters(student):
                raise ModelError(_unchanged(step, made.skipped))
            student = made.model
            notes += made.notes
            skipped += made.skipped
        return self._taught(Made(student, tuple(notes), tuple(dict.fromkeys(skipped))))

    def _step(self, model: Any, step: Step) -> Made:
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

    def _taught(self, made: Made) -> Made:
        if self.lessons is None:
            compile_like(self.model, made.model)  # for an evaluate() that calls model.evaluate()
            return made
        try:
            taught = self.lessons.taught(made.model)
        except ModelError as error:  # it is a candidate all the same
            note = f"It was not trained: {error}"
            return Made(made.model, (*made.notes, note), made.skipped)
        return Made(taught.model, (*made.notes, *taught.notes), made.skipped)


def parameters(model: Any) -> int:
    """Return the number of weights of a model."""
    return int(model.count_params())


def _unchanged(step: Step, skipped: tuple[Skipped, ...]) -> str:
    what = "no convolution can be rewritten" if step.kind == SEPARABLE else "no channel can go"
    reasons = "; ".join(f"{one.layer}: {one.reason}" for one in skipped[:_NAMED])
    more = f"; and {len(skipped) - _NAMED} more" if len(skipped) > _NAMED else ""
    return f"{what} ({reasons}{more})" if reasons else what

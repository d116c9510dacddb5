"""Validation images are augmented as the training images are.

What goes wrong: one `ImageDataGenerator` that turns, shifts and flips serves both parts of a
`validation_split`. What is validated with is distorted at random too: the scores are those of
other images in every epoch, mostly too low, and the epoch that looks best is one of luck.

How it shows: the flow with `subset="validation"` is of a generator with random changes.

Example:
    images = ImageDataGenerator(rescale=1 / 255, rotation_range=40, validation_split=0.2)
    train = images.flow_from_directory("data", subset="training", seed=1)
    val = images.flow_from_directory("data", subset="validation", seed=1)

Use instead:
    images = ImageDataGenerator(rescale=1 / 255, rotation_range=40, validation_split=0.2)
    plain = ImageDataGenerator(rescale=1 / 255, validation_split=0.2)
    train = images.flow_from_directory("data", subset="training", seed=1)
    val = plain.flow_from_directory("data", subset="validation", seed=1)

Fix class: show-only.

When it is wrong: where a model is meant to be judged on distorted images.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.code import Module, Program
from quickfit.code.syntax import keyword_value
from quickfit.code.values import Literal, Made
from quickfit.findings import Effect, Spotted, Symptom

_FLOWS = ("flow", "flow_from_directory", "flow_from_dataframe")
_RANDOM = (
    *("rotation_range", "width_shift_range", "height_shift_range", "brightness_range"),
    *("shear_range", "zoom_range", "channel_shift_range", "horizontal_flip", "vertical_flip"),
)


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report the flows of validation data that are augmented."""
    for call in module.calls(*_FLOWS) if "ImageDataGenerator" in module.text else ():
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        subset = keyword_value(call, "subset")
        if owner is None or program.literal(module, subset) != "validation":
            continue
        values = program.values(module, owner)
        drawn = [_drawn(program, value) for value in values]
        if drawn and all(drawn) and isinstance(values[0], Made):
            yield Spotted(
                module.span(call),
                f"the images to validate with are changed at random: `{drawn[0]}`",
                Effect.WRONG,
                related=((values[0].module.span(values[0].call), "by this generator"),),
            )


def _drawn(program: Program, value: object) -> str:
    """Return the first random change that a generator surely makes."""
    if not isinstance(value, Made) or not value.maker.endswith(".ImageDataGenerator"):
        return ""
    for keyword in value.call.keywords:
        if keyword.arg in _RANDOM:
            only = program.only(value.module, keyword.value, value.frame)
            if not isinstance(only, Literal) or only.value:
                return keyword.arg or ""
    return ""


CAUSE = Cause(title="Validation images are augmented", symptom=Symptom.WRONG, scan=scan)

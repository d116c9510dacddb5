"""The answer of `find_nan`: what went non-finite first, with its numbers and what to do."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from quickfit.tuning.numerics.tally import Tally

_WIDTH = 96
_WHAT = {
    "weight": "the weight",
    "input": "the input",
    "label": "the label",
    "layer": "the layer",
    "op": "the operation",
    "loss": "the loss",
    "gradient": "the gradient",
    "update": "the update of",
}

# What a step does not make but begins with.
_GIVEN = ("weight", "input", "label")


@dataclass(frozen=True)
class Culprit:
    """What went non-finite first in one step of training.

    Attributes:
        kind: `weight`, `input`, `label`, `layer`, `op`, `loss`, `gradient` or `update`, in the
            order in which a step goes through them.
        name: of the weight, layer or loss; layers inside of models have the names of these in
            front, such as `encoder/block/scale`.
        found: the numbers that are not finite.
        hint: what such things usually are, and what to do.
        given: what went in there, each with its name.
        op: the operation inside, as TensorFlow calls it (`Log`, `RealDiv`); None if unknown.
        place: the line that asked for it (`train.py:41`), where it is not inside a library.
        weights: for a gradient: the weights whose gradients are not finite, nearest to the loss
            first.
    """

    kind: str
    name: str
    found: Tally
    hint: str
    given: tuple[tuple[str, Tally], ...] = ()
    op: str | None = None
    place: str | None = None
    weights: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The answer in one line."""
        if self.kind in _GIVEN:
            state = "does not fit the model" if self.found.is_finite else "is not finite"
            return f"{self._subject()} {state}, before the step begins"
        where = f", at {self.place}" if self.place else ""
        by = f", in the operation {self.op}{where}" if self.op else where
        return f"{self._subject()} went non-finite first{by}"

    def __str__(self) -> str:
        rows = [("found", str(self.found))]
        rows += [(f"{name}", str(numbers)) for name, numbers in self.given]
        if self.weights:
            more = f" and {len(self.weights) - 3} more" if len(self.weights) > 3 else ""
            rows.append(("weights", ", ".join(self.weights[:3]) + more))
        wide = max(len(name) for name, _ in rows)
        lines = [f"  {name:<{wide}}  {text}" for name, text in rows]
        return "\n".join([self.headline, *lines, *_wrapped(self.hint)])

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__} {self.kind}: {self}>"

    def _subject(self) -> str:
        what = _WHAT[self.kind]
        if self.kind == "gradient":
            return f"{what}, going back through `{self.name}`,"
        return f"{what} `{self.name}`"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")

"""How good a model is: by a function of the user's, or on labelled data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quickfit.compression.distilling.explaining import explained
from quickfit.errors import UsageError

# Models are `Any`: Keras has no types of its own.


@dataclass(frozen=True)
class Score:
    """How good a model is.

    Args:
        rank: to compare by; more is better, the first number counts most.
        text: for people.
    """

    rank: tuple[float, ...]
    text: str

    def beats(self, other: Score) -> bool:
        """Tell whether this one is better; as good is not."""
        return self.rank > other.rank


def by_function(evaluate: Callable[[Any], float], model: Any) -> Score:
    """Return what a function of the user's says about a model; more is better.

    Raises:
        UsageError: it returned something that is no number.
    """
    value = evaluate(model)
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"validation() returned {value!r}, and a number is needed that is higher for better "
            "models, such as the share of right answers."
        ) from error
    return Score((_ranked(number),), f"{number:.4g}")


def on_data(model: Any, feed: Any) -> Score:
    """Return how a compiled model does on data: right answers first, then the loss."""
    with explained("The look at the validation data"):
        results = model.evaluate(feed, verbose=0, return_dict=True)
    loss = float(results["loss"])
    if "accuracy" not in results:
        return Score((_ranked(-loss),), f"loss {loss:.4g}")
    accuracy = float(results["accuracy"])
    return Score((_ranked(accuracy), _ranked(-loss)), f"accuracy {accuracy:.4f} (loss {loss:.3g})")


def _ranked(number: float) -> float:
    """Return a number that compares: what is not one is worse than everything."""
    return -math.inf if math.isnan(number) else number

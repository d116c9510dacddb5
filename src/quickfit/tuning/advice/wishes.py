"""What somebody wants to have tried, from the words or settings they gave."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.advice.candidates import KINDS
from quickfit.tuning.advice.rows import Kind
from quickfit.tuning.advice.setting_checks import checked
from quickfit.tuning.trials.settings import Setting

# Nothing can be started and measured three times in less.
MIN_BUDGET_S = 10.0


@dataclass(frozen=True)
class Wishes:
    """What to try.

    Args:
        kinds: of changes.
        forced: kinds that are tried although the machine speaks against them.
        settings: given one by one, to be tried beside these kinds.
    """

    kinds: frozenset[Kind] = frozenset(KINDS)
    forced: frozenset[Kind] = frozenset()
    settings: tuple[Setting, ...] = ()


def wishes_of(settings: Iterable[Any] | None) -> Wishes:
    """Return what a list of names and settings asks for; what is named is tried in any case.

    Raises:
        UsageError: something in it is neither, or a setting that cannot be meant.
    """
    if settings is None:
        return Wishes()
    given = [settings] if isinstance(settings, str | Setting) else list(settings)
    kinds = frozenset(kind_named(str(one)) for one in given if not isinstance(one, Setting))
    single = tuple(
        checked(one) for one in given if isinstance(one, Setting) and not one.is_as_it_was
    )
    if not kinds and not single:
        raise UsageError(f"advise: settings is empty. Name what to try: {_names()}.")
    return Wishes(kinds, kinds, single)


def kind_named(name: str) -> Kind:
    """Return the kind that a word names.

    Raises:
        UsageError: there is none.
    """
    found = [kind for kind in KINDS if kind.value == name.strip().lower()]
    if found:
        return found[0]
    near = difflib.get_close_matches(name, [kind.value for kind in KINDS], n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UsageError(f"{name!r} is nothing that can be tried.{hint}\nThere is: {_names()}.")


def check_numbers(budget_s: float, steps_left: int | None) -> None:
    """See that a budget and a number of steps can be meant.

    Raises:
        UsageError: they cannot.
    """
    if not math.isfinite(budget_s):
        raise UsageError(
            f"A budget of {budget_s:g} s is no length of time.\n"
            "A small model needs about two minutes: --budget 3m (in Python: budget_s=180)"
        )
    if budget_s < MIN_BUDGET_S:
        raise UsageError(
            f"A budget of {budget_s:g} s is too small: processes are started and measured several"
            " times.\nA small model needs about two minutes: --budget 3m (in Python:"
            " budget_s=180)"
        )
    if steps_left is not None and steps_left < 1:
        raise UsageError(
            f"{steps_left} steps left: nothing is left to train, so nothing can pay.\n"
            "Give the number of steps still to come, or leave it out."
        )


def _names() -> str:
    return ", ".join(kind.value for kind in KINDS)

"""Measures, in child processes, which settings make a training faster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from quickfit import units
from quickfit.capacity import whole_cores
from quickfit.proof.budget import Budget
from quickfit.tuning.advice import device
from quickfit.tuning.advice.hints import input_hint
from quickfit.tuning.advice.processes import Machine
from quickfit.tuning.advice.result import Advice
from quickfit.tuning.advice.sessions import Session, measured
from quickfit.tuning.advice.setting_checks import check_batches
from quickfit.tuning.advice.status import Line
from quickfit.tuning.advice.targets import name_of, own_setting, recipe_of
from quickfit.tuning.advice.wishes import Wishes, check_numbers, wishes_of
from quickfit.tuning.precision.hardware import Hardware
from quickfit.tuning.trials.scratch import scratch_folder
from quickfit.tuning.trials.trial import Trial

BUDGET_S = 180.0
# More processes that start together are in each other's way, also on many cores.
MAX_STARTS = 4

Tell = Callable[[str], None]


def advise(
    model: Any,  # a Keras model, a function or a name
    data: Any = None,  # what `fit` takes
    *,
    budget_s: float = BUDGET_S,
    settings: Iterable[Any] | None = None,  # names of kinds, or `Setting`s
    steps_left: int | None = None,
    progress: Tell | None = None,
) -> Advice:
    """Measure which settings make a training faster: on this machine, this model and this data.

    Tries XLA, several steps per call, larger batches, 16-bit precision where the hardware has it,
    and thread settings; each alone, then the winners together. Everything runs in processes of
    its own, in turns with the training as it is; the model that is given is not changed.

        advice = quickfit.tuning.advise(model, dataset)
        print(advice)
        advice.lines

    Args:
        model: a compiled model; or a function that returns a compiled model and its data; or
            the name of one, "train:build" for `build` in train.py.
        data: of a model: a `tf.data.Dataset` of batches, a `PyDataset`, or arrays `(x, y)`.
        budget_s: the time for everything; it is kept.
        settings: what to try, by name ("xla", "steps", "batch", "precision", "threads") or as
            `Setting`s; all that makes sense here if it is not given.
        steps_left: how many steps there are still to train: what takes longer to compile than it
            saves is not advised.
        progress: is called with what is being done; by default that is one line on a
            terminal or in a notebook.

    Raises:
        UsageError: an argument makes no sense.
        ModelError: the training does not run as it is.
    """
    check_numbers(budget_s, steps_left)
    wishes = wishes_of(settings)
    line = Line(sys.stderr)
    tell = progress or line.tell
    try:
        return advised(model, data, wishes, budget_s=budget_s, steps_left=steps_left, tell=tell)
    finally:
        line.clear()


def advised(
    target: Any,
    data: Any,
    wishes: Wishes,
    *,
    budget_s: float,
    steps_left: int | None,
    tell: Tell,
    is_command: bool = False,
) -> Advice:
    """Do what `advise` does, for arguments that were looked at.

    `is_command` is whether it was asked for on the command line: hints then name its options.
    """
    check_batches(wishes.settings, data)
    budget = Budget(budget_s)
    with scratch_folder() as folder:
        recipe = recipe_of(target, data, folder)
        hardware = device.hardware_here()

        def told(text: str) -> None:
            tell(f"{text} · {units.seconds(budget.left_s)} left")

        machine = Machine(lambda setting: Trial(recipe, setting), budget, told, _starts(hardware))
        session = Session(
            name_of(target),
            machine,
            hardware,
            wishes,
            recipe.keeps_input,
            steps_left,
            own=own_setting(target),
            input_hint=input_hint(target),
            is_command=is_command,
        )
        return measured(session)


def _starts(hardware: Hardware) -> int:
    """Return how many processes start at the same time: each is work for a whole core."""
    if hardware.gpus or hardware.tpus:
        return 1
    return max(1, min(whole_cores(), MAX_STARTS))

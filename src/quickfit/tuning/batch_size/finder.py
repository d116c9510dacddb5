"""`find_batch_size`: from what the user gave to a plan, or to why there is none."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from quickfit import units
from quickfit.errors import ModelError, UsageError
from quickfit.machine import whole_cores
from quickfit.tuning.batch_size import plan
from quickfit.tuning.batch_size.confirmation import ConfirmedBatch, confirm_batch, plan_notes
from quickfit.tuning.batch_size.ladder import FIRST_RUNG, BatchRow
from quickfit.tuning.batch_size.plan import BatchPlan
from quickfit.tuning.batch_size.question import read_question, training_room
from quickfit.tuning.batch_size.search import MAX_RESIDUAL, BatchSearch
from quickfit.tuning.batch_size.trial_pool import SearchOutOfTime
from quickfit.tuning.trials.feeds import data_kind
from quickfit.tuning.trials.saving import (
    recipe_by_function,
    recipe_by_model,
    recipe_by_name,
    recipe_by_parts,
)
from quickfit.tuning.trials.settings import Setting, TrialFailed, TrialFailure, TrialRecipe
from quickfit.tuning.trials.trial import TrainingTrial, Trial, scratch_folder

# Tells a trial's process that it is one.
SEARCH_VARIABLE = "QUICKFIT_BATCH_TRIAL"


def find_batch_size(
    build: Any,  # Any: a function, its name, or a Keras model
    data: Any = None,  # Any: arrays, a Dataset or a PyDataset
    *,
    mode: str = "throughput",
    limit: int | None = None,
    effective: int | None = None,
    sizes: Iterable[int] | None = None,
    budget_s: float = 90,
    memory_limit: int | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> BatchPlan:
    """Measure a model with several batch sizes, in processes of their own, and choose one.

    Ctrl-C ends the search; what was measured until then is returned.

    Args:
        build: a function that returns a compiled model and its data, `build()` or
            `build(batch_size=…)`; or its name, "module:function"; or a compiled model.
        data: where `build` gives only a model: a `tf.data.Dataset` of batches, arrays `(x, y)`, or
            a `PyDataset`.
        mode: "throughput" for the smallest batch within 10 % of the most samples per second;
            "max" for the largest that fits in memory.
        limit: no batch is larger.
        effective: samples per update that you want; larger than what is best in one step, it is
            made of several steps whose gradients are accumulated.
        sizes: the only sizes to try, instead of powers of two.
        budget_s: how long the search may take.
        memory_limit: what a training may hold, in bytes or as "4 GB"; left out, 80 % of what is
            free.
        progress: called with a line of text for each size; left out, it is written to stderr where
            that is a terminal.

    Raises:
        UsageError: an argument is wrong.
        ModelError: the model cannot be built or trained at all.
    """
    question = read_question(
        mode=mode,
        limit=limit,
        effective=effective,
        sizes=sizes,
        budget_s=budget_s,
        memory_limit=memory_limit,
    )
    _check_outside()
    tell = plan.terminal_writer() if progress is None else progress
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder())
        recipe = recipe_for_build(build, data, folder)
        memory = training_room(question.memory_limit_bytes)

        def begin(setting: Setting, patience_s: float) -> TrainingTrial:
            growth_bytes = memory.growth_bytes(whole_cores())
            return Trial(
                recipe,
                setting,
                limit_bytes=growth_bytes,
                patience_s=patience_s,
                env={SEARCH_VARIABLE: "1"},
            )

        search = BatchSearch(
            question,
            begin,
            memory,
            tell=tell,
            keeps_input=recipe.keeps_input,
            data_kind=None if data is None else data_kind(data),
        )
        return search_outcome(search)


def _check_outside() -> None:
    """See that no trial searches again, which would start trials without end.

    Raises:
        UsageError: this is a trial, which has imported the script that searches.
    """
    if SEARCH_VARIABLE in os.environ:
        raise UsageError(
            "find_batch_size is called again while a trial imports your file. Put the call under\n"
            '    if __name__ == "__main__":\n'
            "so that it is not made by an import"
        )


def recipe_for_build(build: Any, data: Any, folder: Path) -> TrialRecipe:  # Any: the user's
    """Return how a child comes to the model.

    Raises:
        UsageError: it is no model, function or name, or data are missing or given twice.
    """
    if _is_model(build):
        if data is None:
            raise UsageError(
                "find_batch_size(model): the data are missing. Give them beside the model: "
                "find_batch_size(model, dataset), or find_batch_size(model, (x, y))"
            )
        return recipe_by_model(build, data, folder)
    if isinstance(build, str):
        if data is not None:
            raise UsageError(
                f"find_batch_size({build!r}, data): a named function returns the model and its "
                "data. Leave out data, and return both"
            )
        return recipe_by_name(build, cwd=Path.cwd())
    if not callable(build):
        raise UsageError(
            f"find_batch_size({type(build).__name__}): give a function that returns a compiled "
            "model and its data, its name as 'module:function', or a compiled Keras model"
        )
    return recipe_by_function(build) if data is None else _recipe_of_parts(build, data, folder)


def _recipe_of_parts(build: Callable[[], Any], data: Any, folder: Path) -> TrialRecipe:
    model = _built_model(build)
    try:
        return recipe_by_model(model, data, folder)
    except ModelError:  # such as a model class that Keras cannot save; its function can be carried
        return recipe_by_parts(build, data, folder)


def _is_model(build: object) -> bool:
    # Where Keras is not loaded, nothing can be a model of it.
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(build, keras.Model)


def _built_model(build: Callable[[], Any]) -> Any:  # Any: the user's
    model = build()
    if not _is_model(model):
        raise UsageError(
            f"find_batch_size(build, data): build() returned {type(model).__name__}, not a Keras "
            "model. Return the model alone, or return both and leave out data"
        )
    return model


# A budget for so many starts is enough for the usual number of sizes on two cores.
SIZES_WORTH = 10
_INTERRUPTED = "interrupted; the table has what was measured until then"


def search_outcome(search: BatchSearch) -> BatchPlan:
    """Return the plan that a search comes to; where it is interrupted, with what it has.

    Raises:
        ModelError: the model does not train with any size.
    """
    found, reason = None, ""
    try:
        begin_search(search)
        search.measure()
        reason = refusal_reason(search)
        if not reason:
            found = confirm_batch(search)
            reason = "" if found else _nothing_ran_reason(search)
    except KeyboardInterrupt:
        reason = _INTERRUPTED
    finally:
        search.crew.close()
    return _build_plan(search, found, reason)


def refusal_reason(search: BatchSearch) -> str:
    """Return why the measurements are no ground for a choice; nothing where they are."""
    ran = [row for row in search.rows if row.is_measured]
    is_cut = search.is_cut or any(not row.words and not row.steps_s for row in search.rows)
    if is_cut and len(ran) == 1:
        within, wanted_s = search.question.budget_s, _needed_s(search)
        words = search.cut_words or "the next one was not measured in time"
        return (
            f"budget_s={within:g} was enough for batch {ran[0].batch} alone: {words}. "
            f"Give budget_s={wanted_s}"
        )
    if search.question.mode == "max" or search.misfit <= MAX_RESIDUAL:
        return ""
    off = units.share(search.misfit)
    what = (
        f"the times of a step do not lie on a rising line ({off} off, more than 20 %)"
        if search.time is not None
        else f"the rounds differ from each other by {off}, more than 20 %"
    )
    words = search.load.words
    then = (
        "Try again when the machine is free, or give a larger budget_s"
        if search.load.is_busy
        else "Give a larger budget_s, or choose from the table yourself"
    )
    return f"{what}; {words}. {then}" if words else f"{what}. {then}"


def _needed_s(search: BatchSearch) -> int:
    """Return a budget that is enough for several sizes, by what one of them takes to start."""
    return max(10 * round(SIZES_WORTH * search.start_s / 10), 2 * round(search.question.budget_s))


def _nothing_ran_reason(search: BatchSearch) -> str:
    if not any(row.steps_s for row in search.rows):
        return "the time was over before anything was measured. Give a larger budget_s"
    if search.is_over:
        return "there was no time left to run the chosen batch. Give a larger budget_s"
    if search.question.limit is not None or search.question.effective is not None:
        return (
            "no size within the limit came to its end. Give a larger budget_s, limit or effective"
        )
    return "no size came to its end when it was run again; the table and the notes say why"


def _build_plan(search: BatchSearch, found: ConfirmedBatch | None, reason: str) -> BatchPlan:
    return BatchPlan(
        micro_batch=found.micro_batch if found else None,
        accumulation=found.accumulation if found else 1,
        effective_batch=found.micro_batch * found.accumulation if found else None,
        evidence=_evidence_rows(search, found),
        notes=plan_notes(search, found),
        reason=reason,
        own_batch=search.own,
        time=search.time,
        is_partial=reason == _INTERRUPTED,
        doubt=_doubt_reason(search),
        script=search.script,
    )


def _evidence_rows(search: BatchSearch, found: ConfirmedBatch | None) -> tuple[BatchRow, ...]:
    """Return all rows, with that of a part of an effective batch, which ran only at the end."""
    rows = search.rows
    again = found.again if found else None
    if again is None or again.batch in [row.batch for row in rows]:
        return tuple(rows)
    words = "run at the end, with your own input" if search.keeps_input else "run at the end"
    return tuple(sorted([*rows, replace(again, words=words)], key=lambda row: row.batch))


def _doubt_reason(search: BatchSearch) -> str:
    """Return why a choice by time is uncertain; the largest that fits is no such choice."""
    is_by_time = search.question.mode != "max" and len(search.rows) > 1
    return search.load.words if is_by_time and search.load.is_high else ""


def begin_search(search: BatchSearch) -> None:
    """Start the first trial; the search knows the data and the user's batch afterwards.

    Raises:
        ModelError: the model does not train.
    """
    for batch in _first_sizes(search):
        try:
            search.begin_with(batch)
            return
        except SearchOutOfTime:
            raise ModelError(_too_slow_error(search)) from None
        except TrialFailed as failed:
            if failed.failure is not TrialFailure.OUT_OF_MEMORY:
                raise ModelError(_first_trial_error(failed)) from None
            name = "your own batch" if batch is None else f"batch {batch}"
            search.notes.append(f"{name} does not fit in memory: limit {search.room.told}")
            search.tell(search.notes[-1])
    raise ModelError(
        f"not even the smallest batch fits in memory: the limit is {search.room.told}. End other "
        "programs, give a larger memory_limit, or make the model or its inputs smaller"
    )


def _first_sizes(search: BatchSearch) -> list[int | None]:
    """Return what to begin with, in order, `None` for the user's own batch."""
    if search.question.sizes is not None:
        return list(search.question.sizes[:1])
    most = search.question.most(None) or FIRST_RUNG
    small = min(FIRST_RUNG, most)
    return [None, small, 1] if small > 1 else [None, 1]


def _too_slow_error(search: BatchSearch) -> str:
    budget_s = search.question.budget_s
    return (
        f"the first trial was not ready after {units.seconds(budget_s)}, which is all of budget_s. "
        "It loads TensorFlow, builds the model and the data, and trains a few steps. Give a larger "
        f"budget_s ({4 * budget_s:g}), or return a part of the data"
    )


def _first_trial_error(failed: TrialFailed) -> str:
    if failed.failure is TrialFailure.HUNG:
        return (
            f"the first trial hung: {failed.text}\n"
            "Does the input wait for something? If it is only slow, give a larger budget_s"
        )
    if failed.failure is TrialFailure.ERROR:
        return f"the first trial ended in an error:\n{failed.text}"
    return f"the process that tried the model crashed: {failed.text}"

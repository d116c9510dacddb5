"""The first trial of a search: the user's own batch, or a small one where that does not fit."""

from __future__ import annotations

from quickfit import units
from quickfit.errors import ModelError
from quickfit.tuning.batches.crew import OutOfTime
from quickfit.tuning.batches.ladder import FIRST_RUNG
from quickfit.tuning.batches.search import Search
from quickfit.tuning.trials.answers import Failure, TrialFailed


def begin_search(search: Search) -> None:
    """Start the first trial; the search knows the data and the user's batch afterwards.

    Raises:
        ModelError: the model does not train.
    """
    for batch in _first_sizes(search):
        try:
            search.begin_with(batch)
            return
        except OutOfTime:
            raise ModelError(_too_slow(search)) from None
        except TrialFailed as failed:
            if failed.failure is not Failure.OUT_OF_MEMORY:
                raise ModelError(_broken(failed)) from None
            name = "your own batch" if batch is None else f"batch {batch}"
            search.notes.append(f"{name} does not fit in memory: limit {search.room.told}")
            search.tell(search.notes[-1])
    raise ModelError(
        f"not even the smallest batch fits in memory: the limit is {search.room.told}. End other "
        "programs, give a larger memory_limit, or make the model or its inputs smaller"
    )


def _first_sizes(search: Search) -> list[int | None]:
    """Return what to begin with, in order, `None` for the user's own batch."""
    if search.question.sizes is not None:
        return list(search.question.sizes[:1])
    most = search.question.most(None) or FIRST_RUNG
    small = min(FIRST_RUNG, most)
    return [None, small, 1] if small > 1 else [None, 1]


def _too_slow(search: Search) -> str:
    budget_s = search.question.budget_s
    return (
        f"the first trial was not ready after {units.seconds(budget_s)}, which is all of budget_s. "
        "It loads TensorFlow, builds the model and the data, and trains a few steps. Give a larger "
        f"budget_s ({4 * budget_s:g}), or return a part of the data"
    )


def _broken(failed: TrialFailed) -> str:
    if failed.failure is Failure.HUNG:
        return (
            f"the first trial hung: {failed.text}\n"
            "Does the input wait for something? If it is only slow, give a larger budget_s"
        )
    if failed.failure is Failure.ERROR:
        return f"the first trial ended in an error:\n{failed.text}"
    return f"the process that tried the model crashed: {failed.text}"

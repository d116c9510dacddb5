"""The chosen batch, really run: in a fresh child, with the user's own input."""

from __future__ import annotations

from dataclasses import dataclass, replace

from quickfit import units
from quickfit.tuning.batches import choosing
from quickfit.tuning.batches.crew import OutOfTime, failed_words
from quickfit.tuning.batches.rows import Row
from quickfit.tuning.batches.search import MAX_RESIDUAL, STEPS_AGAIN, Search
from quickfit.tuning.trials.answers import TrialFailed
from quickfit.tuning.trials.settings import Setting

# Below this share of the speed from memory, the input is what limits the training. The fastest
# of a few turns is held against the fastest of many: on a busy machine that says less.
INPUT_SHARE, BUSY_INPUT_SHARE = 0.8, 0.5
ROUNDS_AGAIN = 6
# In shorter epochs the time between them outweighs the input.
MIN_EPOCH_STEPS = 10


@dataclass(frozen=True)
class Confirmed:
    """A batch that may be recommended.

    Args:
        row: the measured size that it comes from.
        micro_batch: samples per step.
        accumulation: steps per update.
        again: its row when it was run again; None where there was no time for that.
    """

    row: Row
    micro_batch: int
    accumulation: int
    again: Row | None


def confirmed(search: Search) -> Confirmed | None:
    """Return the best size that really runs, from the chosen one downwards; None where none does.

    A size that was never run itself, as a part of an effective batch, counts only if it runs here.
    """
    row = search.choice()
    while row is not None:
        micro_batch, accumulation = _parts(search, row)
        try:
            return Confirmed(row, micro_batch, accumulation, _run(search, micro_batch, row))
        except TrialFailed as failed:
            _note_failure(search, micro_batch, row, failed)
        except OutOfTime:
            search.is_over = True
            needed, left = units.about(_again_s(search, row)), units.about(search.left_s)
            search.notes.append(
                f"batch {micro_batch} was not run again{_with_input(search)}: that takes about "
                f"{needed}, and {left} were left. Give a larger budget_s"
            )
            is_tried = micro_batch == row.batch
            return Confirmed(row, micro_batch, accumulation, None) if is_tried else None
        row = search.choice(below=row.batch)
    return None


def input_words(search: Search, found: Confirmed) -> str:
    """Return that the input is the limit, where it is."""
    if found.again is None or not search.keeps_input:
        return ""
    if search.misfit > MAX_RESIDUAL:
        return ""
    if search.samples is not None and search.samples < MIN_EPOCH_STEPS * found.micro_batch:
        return ""
    share = found.again.samples_per_s / found.row.samples_per_s
    if share >= (BUSY_INPUT_SHARE if search.load.is_busy else INPUT_SHARE):
        return ""
    fed, ideal = found.again.samples_per_s, found.row.samples_per_s
    return (
        f"your input is the limit: with it {units.count(fed)} samples/s, from memory "
        f"{units.count(ideal)}. Make it faster first (quickfit bench): a larger batch gains little "
        "until then"
    )


def _parts(search: Search, row: Row) -> tuple[int, int]:
    question = search.question
    if question.effective is None:
        return row.batch, 1
    ran = [one.batch for one in search.rows if one.is_measured] if question.sizes else []
    return choosing.parts(question.effective, row.batch, ran)


def _run(search: Search, batch: int, row: Row) -> Row:
    if search.left_s < _again_s(search, row):
        raise OutOfTime
    search.tell(f"running batch {batch} again{_with_input(search)}")
    return search.crew.alone(Setting(batch=batch), batch, ROUNDS_AGAIN)


def _again_s(search: Search, row: Row) -> float:
    return search.start_s + STEPS_AGAIN * row.step_s


def _with_input(search: Search) -> str:
    return ", with your own input" if search.keeps_input else ""


def _note_failure(search: Search, micro_batch: int, row: Row, failed: TrialFailed) -> None:
    words = failed_words(failed)
    search.notes.append(
        f"batch {micro_batch} failed when it was run again{_with_input(search)} ({words})"
    )
    search.crew.rows[row.batch] = replace(
        row, failure=failed.failure, words=f"failed when run again: {words}", text=failed.text
    )

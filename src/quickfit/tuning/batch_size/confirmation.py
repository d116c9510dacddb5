"""The chosen batch, really run in a fresh child, and what to know before it is used."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from quickfit import units
from quickfit.tuning.advice.change_table import LossChange, loss_figure
from quickfit.tuning.batch_size import ladder
from quickfit.tuning.batch_size.ladder import BatchRow
from quickfit.tuning.batch_size.search import MAX_RESIDUAL, STEPS_AGAIN, BatchSearch
from quickfit.tuning.batch_size.trial_pool import SearchOutOfTime
from quickfit.tuning.trials.batch_judgement import MIN_UPDATES, learn_samples
from quickfit.tuning.trials.settings import Setting, TrialFailed, TrialFailure

# Below this share of the speed from memory, the input is what limits the training. The fastest
# of a few turns is held against the fastest of many: on a busy machine that says less.
INPUT_SHARE, BUSY_INPUT_SHARE = 0.8, 0.5
ROUNDS_AGAIN = 6
# In shorter epochs the time between them outweighs the input.
MIN_EPOCH_STEPS = 10


@dataclass(frozen=True)
class ConfirmedBatch:
    """A batch that may be recommended.

    Args:
        row: the measured size that it comes from.
        micro_batch: samples per step.
        accumulation: steps per update.
        again: its row when it was run again; None where there was no time for that.
    """

    row: BatchRow
    micro_batch: int
    accumulation: int
    again: BatchRow | None


def confirm_batch(search: BatchSearch) -> ConfirmedBatch | None:
    """Return the best size that really runs, from the chosen one downwards; None where none does.

    A size that was never run itself, as a part of an effective batch, counts only if it runs here.
    """
    row = search.choice()
    while row is not None:
        micro_batch, accumulation = _effective_parts(search, row)
        try:
            again = _run_batch(search, micro_batch, row)
            if not _learns_less(search, again):
                return ConfirmedBatch(row, micro_batch, accumulation, again)
        except TrialFailed as failed:
            _note_failure(search, micro_batch, row, failed)
        except SearchOutOfTime:
            search.is_over = True
            needed, left = units.about(_repeat_s(search, row)), units.about(search.left_s)
            search.notes.append(
                f"batch {micro_batch} was not run again{_with_input(search)}: that takes about "
                f"{needed}, and {left} were left. Give a larger budget_s"
            )
            is_tried = micro_batch == row.batch
            return ConfirmedBatch(row, micro_batch, accumulation, None) if is_tried else None
        row = search.choice(below=row.batch)
    return None


def input_limit_note(search: BatchSearch, found: ConfirmedBatch) -> str:
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


def _effective_parts(search: BatchSearch, row: BatchRow) -> tuple[int, int]:
    question = search.question
    if question.effective is None:
        return row.batch, 1
    ran = [one.batch for one in search.rows if one.is_measured] if question.sizes else []
    return ladder.split_effective_batch(question.effective, row.batch, ran)


def _run_batch(search: BatchSearch, batch: int, row: BatchRow) -> BatchRow:
    if search.left_s < _repeat_s(search, row):
        raise SearchOutOfTime
    search.tell(f"running batch {batch} again{_with_input(search)}")
    learns = _learn_samples(search, batch)
    return search.crew.alone(Setting(batch=batch), batch, ROUNDS_AGAIN, learns=learns)


def _learn_samples(search: BatchSearch, batch: int) -> int:
    """Return after how many samples a loss is compared with the user's own; 0 where it is not."""
    if not search.question.is_judged or search.ready is None or batch <= (search.own or batch):
        return 0
    return learn_samples(search.ready, batch, search.question.budget_s)


def _learns_less(search: BatchSearch, again: BatchRow) -> bool:
    """Tell whether a batch ends with a worse loss than the user's own after the same samples."""
    new, own = again.learned, search.own
    if new is None or own is None:
        return False
    if search.left_s < search.start_s:
        search.notes.append("the loss was not compared for want of time. Give a larger budget_s")
        return False
    search.tell(f"comparing the loss with that of batch {own}")
    try:
        old = search.crew.alone(Setting(batch=own), own, 0, learns=new.samples).learned
    except (TrialFailed, SearchOutOfTime):
        return False
    assert old is not None
    if not LossChange(new.samples, new.before, new.after, old.after).is_worse:
        return False
    search.notes.append(
        f"batch {again.batch} learns less: after {units.count(new.samples)} samples the loss is"
        f" {loss_figure(new.after)}, and {loss_figure(old.after)} with batch {own}. With a higher"
        " learning rate it may be right"
    )
    return True


def _repeat_s(search: BatchSearch, row: BatchRow) -> float:
    return search.start_s + STEPS_AGAIN * row.step_s


def _with_input(search: BatchSearch) -> str:
    return ", with your own input" if search.keeps_input else ""


def _note_failure(
    search: BatchSearch, micro_batch: int, row: BatchRow, failed: TrialFailed
) -> None:
    words = failed.line
    search.notes.append(
        f"batch {micro_batch} failed when it was run again{_with_input(search)} ({words})"
    )
    search.crew.rows[row.batch] = replace(
        row, failure=failed.failure, words=f"failed when run again: {words}", text=failed.text
    )


# Rules for the learning rate were found good for batches that differ by up to this much.
FARTHEST_RULE = 8.0


def plan_notes(search: BatchSearch, found: ConfirmedBatch | None) -> tuple[str, ...]:
    """Return the notes on a plan, the most important ones first."""
    told = [] if found is None else _choice_notes(search, found)
    told += [_left_out_note(search), _error_notes(search.rows), _crash_note(search.rows)]
    if search.load.is_busy:
        told.append(f"{search.load.words}: times may be off")
    if search.is_apart:
        told.append("memory was too short to measure all sizes side by side; times may be off")
    return tuple(note for note in [*told, *search.notes] if note)


def _choice_notes(search: BatchSearch, found: ConfirmedBatch) -> list[str]:
    effective = found.micro_batch * found.accumulation
    wanted = search.question.effective
    return [
        _gain_note(search, found),
        input_limit_note(search, found),
        learning_rate_note(search.own, effective),
        _accumulation_note(found.accumulation),
        f"{wanted} samples cannot be split evenly: {effective} per update are the nearest"
        if wanted is not None and wanted != effective
        else "",
        _outside_sizes_note(search, found),
        _cap_note(search, found),
    ]


def _gain_note(search: BatchSearch, found: ConfirmedBatch) -> str:
    own = next((row for row in search.rows if row.is_own and row.is_measured), None)
    if search.misfit > MAX_RESIDUAL:
        # Only the largest that fits is recommended without good times.
        off = units.share(search.misfit)
        return (
            f"chosen by memory alone: the times of a step are {off} off, and say nothing of speed"
        )
    if own is None or own.batch == found.row.batch:
        return ""
    gain = found.row.samples_per_s / own.samples_per_s
    told = f"{units.factor(gain)} the samples per second of your batch {own.batch}, input left out"
    if gain < 1:
        told += f"; batch {own.batch} is good as well if it learns as well"
    return told


def learning_rate_note(own: int | None, effective: int) -> str:
    """Return what another number of samples per update means; nothing where it is the same."""
    if own == effective:
        return ""
    if own is None:
        return (
            "the learning rate is not changed. If this is not the batch you trained with before, "
            "it may need another one"
        )
    ratio = effective / own
    few = f"1/{_number_text(ratio)} as many" if ratio > 1 else f"{_number_text(1 / ratio)}× as many"
    if max(ratio, 1 / ratio) > FARTHEST_RULE:
        then = "no rule of thumb reaches that far: try several rates, or a smaller limit,"
    else:
        scaled, root = _number_text(ratio), _number_text(math.sqrt(ratio))
        then = f"to try: ×{scaled} with SGD, ×{root} with Adam;"
    return (
        f"{effective} samples per update instead of {own}: {few} updates in an epoch. The learning "
        f"rate is not changed; {then} and compare the validation loss"
    )


def _number_text(value: float) -> str:
    return f"{value:.3g}"


def _accumulation_note(count: int) -> str:
    if count == 1:
        return ""
    return (
        f"with {count} batches per update: schedules of the learning rate count updates; "
        "BatchNormalization still sees single batches; batches left over at the end of the "
        "training change nothing (quickfit.tuning.make_train_step(accumulate=…) can flush them)"
    )


def _outside_sizes_note(search: BatchSearch, found: ConfirmedBatch) -> str:
    """Return why the batch is none of the sizes that were asked for, where it is none."""
    sizes, wanted = search.question.sizes, search.question.effective
    if sizes is None or found.micro_batch in sizes:
        return ""
    return (
        f"batch {found.micro_batch} is none of your sizes: of those near the best one, "
        f"{found.row.batch}, none divides effective={wanted}"
    )


def _left_out_note(search: BatchSearch) -> str:
    """Return which of the sizes that were asked for are more than there may be."""
    question = search.question
    most = question.most(search.samples)
    tried = {row.batch for row in search.rows}
    over = [n for n in question.sizes or () if most is not None and n > most and n not in tried]
    if not over:
        return ""
    limits = {question.effective: "effective", question.limit: "limit"}
    why = f"{limits.get(most)}={most}"
    if search.samples is not None and most == search.samples:
        why = f"the data have {units.count(search.samples)} samples"
    return f"batch {', '.join(map(str, over))} left out: {why}"


def _error_notes(rows: list[BatchRow]) -> str:
    failed = [str(row.batch) for row in rows if row.failure is TrialFailure.ERROR]
    if not failed:
        return ""
    return (
        f"batch {', '.join(failed)} ended in an error; `text` of its row in `evidence` has all of "
        "it. Is a batch size fixed in the model or the data?"
    )


def _crash_note(rows: list[BatchRow]) -> str:
    crashed = [row for row in rows if row.failure is TrialFailure.CRASHED]
    sizes = ", ".join(str(row.batch) for row in crashed)
    return f"batch {sizes} crashed: {crashed[0].text}" if crashed else ""


def _cap_note(search: BatchSearch, found: ConfirmedBatch) -> str:
    """Return what kept the search from larger sizes, where the chosen one is the largest."""
    largest = max(row.batch for row in search.rows if row.is_measured)
    if found.row.batch < largest or search.question.sizes is not None:
        return ""
    capped = search.question.updates_limit
    if capped is not None and found.row.batch * 2 > capped:
        return f"larger ones were not tried: an epoch would have fewer than {MIN_UPDATES} updates"
    if search.samples is not None and found.row.batch * 2 > search.samples:
        return f"larger ones were not tried: the data has {units.count(search.samples)} samples"
    if search.question.limit is not None and found.row.batch * 2 > search.question.limit:
        return f"larger ones were not tried: limit={search.question.limit}"
    return ""

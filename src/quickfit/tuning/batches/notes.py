"""What to know before a found batch is used: learning rate, accumulation, a busy machine."""

from __future__ import annotations

import math

from quickfit import units
from quickfit.tuning.batches.confirming import Confirmed, input_words
from quickfit.tuning.batches.rows import Row
from quickfit.tuning.batches.search import MAX_RESIDUAL, Search
from quickfit.tuning.trials.answers import Failure

# Rules for the learning rate were found good for batches that differ by up to this much.
FARTHEST_RULE = 8.0


def notes(search: Search, found: Confirmed | None) -> tuple[str, ...]:
    """Return the notes on a plan, the most important ones first."""
    told = [] if found is None else _on_choice(search, found)
    told += [_left_out(search), _errors(search.rows), _crashes(search.rows)]
    if search.load.is_busy:
        told.append(f"{search.load.words}: times may be off")
    if search.is_apart:
        told.append("memory was too short to measure all sizes side by side; times may be off")
    return tuple(note for note in [*told, *search.notes] if note)


def _on_choice(search: Search, found: Confirmed) -> list[str]:
    effective = found.micro_batch * found.accumulation
    wanted = search.question.effective
    return [
        _gain(search, found),
        input_words(search, found),
        learning_rate(search.own, effective),
        _accumulating(found.accumulation),
        f"{wanted} samples cannot be split evenly: {effective} per update are the nearest"
        if wanted is not None and wanted != effective
        else "",
        _outside(search, found),
        _cap(search, found),
    ]


def _gain(search: Search, found: Confirmed) -> str:
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


def learning_rate(own: int | None, effective: int) -> str:
    """Return what another number of samples per update means; nothing where it is the same."""
    if own == effective:
        return ""
    if own is None:
        return (
            "the learning rate is not changed. If this is not the batch you trained with before, "
            "it may need another one"
        )
    ratio = effective / own
    few = f"1/{_number(ratio)} as many" if ratio > 1 else f"{_number(1 / ratio)}× as many"
    if max(ratio, 1 / ratio) > FARTHEST_RULE:
        then = "no rule of thumb reaches that far: try several rates, or a smaller limit,"
    else:
        scaled, root = _number(ratio), _number(math.sqrt(ratio))
        then = f"to try: ×{scaled} with SGD, ×{root} with Adam;"
    return (
        f"{effective} samples per update instead of {own}: {few} updates in an epoch. The learning "
        f"rate is not changed; {then} and compare the validation loss"
    )


def _number(value: float) -> str:
    return f"{value:.3g}"


def _accumulating(count: int) -> str:
    if count == 1:
        return ""
    return (
        f"with {count} batches per update: schedules of the learning rate count updates; "
        "BatchNormalization still sees single batches; batches left over at the end of the "
        "training change nothing (quickfit.tuning.make_train_step(accumulate=…) can flush them)"
    )


def _outside(search: Search, found: Confirmed) -> str:
    """Return why the batch is none of the sizes that were asked for, where it is none."""
    sizes, wanted = search.question.sizes, search.question.effective
    if sizes is None or found.micro_batch in sizes:
        return ""
    return (
        f"batch {found.micro_batch} is none of your sizes: of those near the best one, "
        f"{found.row.batch}, none divides effective={wanted}"
    )


def _left_out(search: Search) -> str:
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


def _errors(rows: list[Row]) -> str:
    failed = [str(row.batch) for row in rows if row.failure is Failure.ERROR]
    if not failed:
        return ""
    return (
        f"batch {', '.join(failed)} ended in an error; `text` of its row in `evidence` has all of "
        "it. Is a batch size fixed in the model or the data?"
    )


def _crashes(rows: list[Row]) -> str:
    crashed = [row for row in rows if row.failure is Failure.CRASHED]
    sizes = ", ".join(str(row.batch) for row in crashed)
    return f"batch {sizes} crashed: {crashed[0].text}" if crashed else ""


def _cap(search: Search, found: Confirmed) -> str:
    """Return what kept the search from larger sizes, where the chosen one is the largest."""
    largest = max(row.batch for row in search.rows if row.is_measured)
    if found.row.batch < largest or search.question.sizes is not None:
        return ""
    if search.samples is not None and found.row.batch * 2 > search.samples:
        return f"larger ones were not tried: the data has {units.count(search.samples)} samples"
    if search.question.limit is not None and found.row.batch * 2 > search.question.limit:
        return f"larger ones were not tried: limit={search.question.limit}"
    return ""

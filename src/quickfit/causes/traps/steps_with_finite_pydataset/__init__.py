"""Epochs end early, because the data ends before `steps_per_epoch` does.

Why it is slow: it is wrong rather than slow. With `steps_per_epoch`, Keras goes on with the same
iterator from epoch to epoch. A PyDataset or dataset of 10 batches and 7 steps gives epochs of 7,
3, 7, 3 steps; a schedule, a callback and the curves then count epochs that are none. A generator
that ends gives epochs of no step at all, and after them Keras trains on the two batches it had
peeked at, over and over.

How it shows: epochs before the last one ran fewer steps than `steps_per_epoch` asked for, or a
generator gave later epochs less than the first one. The text of a script shows it where it has the
numbers; `steps_per_epoch=len(x) // batch_size` of data whose last batch is a smaller one is a
hint.

Example:
    model.fit(batches, steps_per_epoch=75, epochs=20)   # len(batches) == 100

Use instead:
    model.fit(batches, epochs=20)

Or, for data that should be split into other epochs:
    model.fit(dataset.repeat(), steps_per_epoch=75, epochs=20)

Or, for a generator:
    def batches():
        while True:
            yield from one_pass()
    model.fit(batches(), steps_per_epoch=75, epochs=20)

Fix class: repairs. Every epoch is then as long as it says.

When it is wrong: a callback that ends an epoch early on purpose can only end the training with
it, so the last epoch is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from quickfit.causes._cause import Cause, example
from quickfit.causes._shared.batches_in_text import batched, counts_samples
from quickfit.causes.traps.steps_with_finite_pydataset.edit import (
    all_of_the_data,
    endless_generator,
    repeated_data,
    whole_epochs,
)
from quickfit.causes.traps.steps_with_finite_pydataset.epochs import (
    EpochLengths,
    Epochs,
    epoch_lengths,
    epochs_of,
    leaves_last_batch,
)
from quickfit.code import Module, Program
from quickfit.code.keras_models import Feed, feeds, fittings
from quickfit.code.versions import uses_legacy_keras
from quickfit.findings import (
    Change,
    Effect,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Gain,
    Spotted,
    Symptom,
)
from quickfit.signals import Signals

# Of fewer epochs one cannot tell a short one from the last one.
MIN_EPOCHS = 2
# One step too many in a hundred, as rounding up gives, changes nothing.
MIN_LOST_SHARE = 0.05
# How many lengths of epochs are written out.
SHOWN = 6


def detect(signals: Signals) -> Finding | None:
    """Report epochs that ran out of data."""
    loop = signals.loop
    if loop.kind != "fit":
        return None
    lengths = epoch_lengths(signals)
    if len(lengths.steps) < MIN_EPOCHS or not lengths.short:
        return None
    if lengths.lost_share < MIN_LOST_SHARE or not _is_confirmed(lengths, signals):
        return None
    return Finding(
        summary=_summary(lengths),
        where=loop.location,
        evidence=_evidence(lengths, signals),
        gain=Gain(1.0, 1.0, 1.0, "it trains on what it was meant to; it is no faster"),
        cost_share=lengths.lost_share,
        is_of_whole=True,
    )


def _is_confirmed(lengths: EpochLengths, signals: Signals) -> bool:
    """Tell whether the data ended, and not just this epoch's part of it."""
    # Where a number of steps was given, only the end of the data can make an epoch shorter. A
    # generator is never begun again. A dataset without either may be of any length each time.
    is_ended = lengths.is_asked or signals.loop.input == "generator"
    return is_ended or bool(lengths.ran_out)


def _summary(lengths: EpochLengths) -> str:
    if 0 in lengths.short:
        return "the input ended: some epochs ran no step at all"
    own, asked = lengths.data_batches, lengths.asked
    if lengths.is_asked and own is not None:
        return f"`steps_per_epoch` is {asked}, but the data has {own} batches"
    return "the input ended before the epoch did"


def _evidence(lengths: EpochLengths, signals: Signals) -> tuple[Evidence, ...]:
    seen = ", ".join(str(steps) for steps in lengths.steps[:SHOWN])
    more = ", ..." if len(lengths.steps) > SHOWN else ""
    found = [
        Evidence(
            "epochs ran fewer steps than they were asked for",
            len(lengths.short),
            "count",
            f"of {len(lengths.steps)}; steps per epoch: {seen}{more}",
        ),
        Evidence("of the steps asked for were not run", lengths.lost_share, "share"),
    ]
    if lengths.data_batches is not None:
        detail = f"`steps_per_epoch` asks for {lengths.asked}" if lengths.is_asked else ""
        found.append(Evidence("batches are in the data", lengths.data_batches, "count", detail))
    if lengths.ran_out:
        found.append(
            Evidence("times Keras said that the input ran out of data", lengths.ran_out, "count")
        )
    return tuple(found)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show epochs that take all of the data, or a source that goes on."""
    page = __doc__ or ""
    if signals.loop.input == "generator":
        shown = example(page, "Or, for a generator")
        title = "Let the generator go on for ever"
    else:
        shown, title = example(page, "Use instead"), "Let every epoch take all of the data"
    return Fix(
        title=title,
        kind=FixClass.REPAIRS,
        example=shown,
        note="Epochs are then longer or shorter than before: count schedules in steps.",
    )


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Let epochs take all of the data, or let the data go on."""
    where = finding.where
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None or not epoch_lengths(signals).is_asked:
        return []
    ways = {
        "generator": (endless_generator,),
        "pydataset": (all_of_the_data,),
        "tf.data": (all_of_the_data, repeated_data),
    }
    found = [way(module, where.line) for way in ways.get(signals.loop.input, ())]
    return [change for change in found if change is not None]


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report epochs that run out of data, where the text has the numbers."""
    for fitting in fittings(program, module, "fit"):
        feed = next(feeds(fitting), None)
        if feed is None or feed.steps is None or not feed.is_training:
            continue
        spot = _short(program, feed)
        # Keras 2 ends the training with the data.
        if spot is not None and not uses_legacy_keras(program, module):
            yield spot


def _short(program: Program, feed: Feed) -> Spotted | None:
    """Return what happens to the epochs of a call, where some are short."""
    if _is_in_samples(program, feed):
        return None
    epochs = epochs_of(program, feed)
    if epochs is None:
        leaves = leaves_last_batch(program, feed)
        return _spotted(feed, _LAST_BATCH, is_hint=True) if leaves else None
    return _spotted(feed, _told(epochs)) if epochs.lost_share >= MIN_LOST_SHARE else None


def _is_in_samples(program: Program, feed: Feed) -> bool:
    """Tell whether `steps-in-samples` reports the number."""
    data = batched(program, feed)
    if data is None or feed.steps is None:
        return False
    return counts_samples(program, feed, feed.steps, data)


# Keras goes on with the iterator of the epoch before, which has one batch left.
_LAST_BATCH = (
    "`steps_per_epoch` leaves the last batch, where that is a smaller one, to the next epoch: "
    "every second epoch then has one step"
)


def _told(epochs: Epochs) -> str:
    shown = ", ".join(str(steps) for steps in epochs.steps[:SHOWN])
    more = ", …" if len(epochs.steps) > SHOWN else ""
    return (
        f"`steps_per_epoch` is {epochs.asked}, but the data has {epochs.batches} batches: "
        f"the epochs run {shown}{more} steps"
    )


def _spotted(feed: Feed, summary: str, *, is_hint: bool = False) -> Spotted:
    module = feed.fitting.module
    assert feed.steps is not None
    return Spotted(
        where=module.span(feed.steps),
        summary=summary,
        effect=Effect.WRONG,
        change=whole_epochs(module, feed.fitting.call),
        is_hint=is_hint,
    )


CAUSE = Cause(
    title="The data ends before the epoch",
    symptom=Symptom.WRONG,
    detect=detect,
    fix=fix,
    changes=changes,
    scan=scan,
)

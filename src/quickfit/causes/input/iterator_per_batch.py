"""The loop makes a new tf.data iterator for every batch or two.

Why it is slow: a new iterator begins at the first element. It starts threads, opens files, fills
buffers, makes again what is skipped, and is shut down after one batch; nothing is prepared while
the step runs. With `skip(step)` it takes longer with every step.

How it shows: in the loop iterators end about as often as a batch is asked for, and asking for
batches, with ending those iterators, takes a visible part of the loop by the clock.

Example:
    for step in range(steps):
        x, y = next(iter(ds.skip(step).take(1)))
        train_step(x, y)

Use instead:
    batches = iter(ds.repeat())
    for step in range(steps):
        x, y = next(batches)
        train_step(x, y)

Fix class: may change results. An iterator that goes on gives the batches one after the other; with
a shuffle, each of them from another place than the first batch of a shuffle that begins anew.

When it is wrong: a dataset of a single batch has one iterator per epoch, and nothing else to give.
Take that batch out of it once, before the loop.
"""

from __future__ import annotations

from quickfit.account import loop_account
from quickfit.causes._cause import Cause, example
from quickfit.causes._shared.large_node import is_large, share_of_run
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import gain
from quickfit.signals.loops import Call

# An iterator that is used as meant gives an epoch; one that ends after two batches does not.
MIN_ENDS_PER_BATCH = 0.5
# Fewer may be epochs of a dataset that is tried on a few batches.
MIN_ENDS = 3
# What one iterator for all of them saves of this time. What a batch takes by itself, behind what
# starts and ends with every iterator, is not known; of the example next to nothing was left.
REMOVED = (0.3, 0.9, 1.0)
# Never more than this share of the time goes.
MOST = 0.99


def detect(signals: Signals) -> Finding | None:
    """Report the line that asks a new iterator for every batch."""
    loop = loop_account(signals)
    if signals.loop.kind == "fit" or loop is None:
        return None
    mine = [call for call in signals.calls if call.loop == signals.loop.id and call.calls]
    asked, ends = _of_kind(mine, "next"), _of_kind(mine, "end")
    if not asked or not ends:
        return None
    batches, ended = sum(call.calls for call in asked), sum(call.calls for call in ends)
    if ended < MIN_ENDS or ended < MIN_ENDS_PER_BATCH * batches:
        return None
    asked_s, ended_s = sum(call.wall_s for call in asked), sum(call.wall_s for call in ends)
    spent_s = min(asked_s + ended_s, loop.seconds)
    share = spent_s / loop.seconds if loop.seconds else 0.0
    if not is_large(share * share_of_run(signals, loop), spent_s):
        return None
    slowest = max(asked, key=lambda call: call.wall_s)
    after = [1 - min(part * share, MOST) for part in REMOVED]
    return Finding(
        summary="a new tf.data iterator is made for every batch",
        where=slowest.location or signals.loop.location,
        evidence=(
            Evidence("iterators that ended in this loop", ended, "count", f"{batches} batches"),
            Evidence(
                "to begin and end them, for each batch",
                spent_s / batches,
                "s",
                f"{asked_s:.1f} s until batches came, {ended_s:.1f} s for the ends",
            ),
            *_growth(signals),
        ),
        gain=gain(1.0, (after[0], after[1], after[2]), "one iterator that goes on"),
        cost_share=share,
        claims=("between", "input_wait"),
        is_of_whole=True,
    )


def _of_kind(calls: list[Call], kind: str) -> list[Call]:
    return [call for call in calls if call.kind == kind]


def _growth(signals: Signals) -> list[Evidence]:
    """Say that a step waits longer and longer, as with `skip(step)`."""
    try:
        slow = signals.slowdown
    except SignalMissing:
        return []
    wait = next((one for one in slow.measured if one.name == "wait"), None) if slow else None
    if wait is None or wait.growth <= 0:
        return []
    said = f"{wait.first * 1e3:.0f} ms at first"
    return [Evidence("wait for a batch at the end of the run", wait.last, "s", said)]


CAUSE = Cause(
    title="A new iterator for every batch",
    symptom=Symptom.SLOW,
    detect=detect,
    advice=Fix(
        title="Make one iterator before the loop, and ask it for the next batch",
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=example(__doc__ or "", "Use instead"),
    ),
    says_more_than=(
        *("sequential-map", "map-not-vectorised", "missing-cache", "python-in-map"),
        *("shuffle-buffer-too-big", "dataset-rebuilt-per-epoch", "slow-file-system"),
    ),
)

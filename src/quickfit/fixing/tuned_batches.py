"""Offers about how many examples a step has."""

from __future__ import annotations

from quickfit.code.batch_size import Size
from quickfit.errors import SignalMissing
from quickfit.fixing.tuned_edits import Made, with_batch
from quickfit.fixing.tuned_offer import Offer
from quickfit.fixing.tuned_watched import Watched
from quickfit.signals.step_cost import BatchSize, batch_size
from quickfit.tuning.advice.result import ChangeKind

# The smaller one first: where twice as many examples gain nothing, four times as many do not.
TIMES = (2, 4)


def batch_offers(watched: Watched) -> list[Offer]:
    """Return the offers to take more examples per step."""
    try:
        size = batch_size(watched.signals)
    except SignalMissing:
        size = None
    if size is None:
        why = "how many examples a step has was not seen"
        return [Offer(ChangeKind.BATCH, f"batch ×{times}", {}, why, times) for times in TIMES]
    return [_offer(watched, size, times) for times in TIMES]


def _offer(watched: Watched, size: BatchSize, times: int) -> Offer:
    after = times * size.examples
    made = _made(watched, size, times)
    return Offer(ChangeKind.BATCH, f"batch {after} (×{times})", {"batch": after}, made, times)


def _made(watched: Watched, size: BatchSize, times: int) -> Made:
    steps = watched.epoch_steps
    if steps is not None and 2 * times > steps:
        return f"an epoch has only {steps} steps"
    kind = watched.loop.input
    if size.method == "fit" and kind != "arrays":
        return f"the batches come from a {kind}: make them larger there by hand"
    script = watched.script(size.location)
    if script is None or size.location is None:
        return "where batches are made is not in a file of yours, or it has changed"
    wanted = Size(size.method, size.examples, times * size.examples)
    return with_batch(script, size.location.line, wanted, watched.project)

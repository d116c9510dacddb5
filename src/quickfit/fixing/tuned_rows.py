"""The rows of the table about a script: what came of each setting, in one word and why."""

from __future__ import annotations

from quickfit import units
from quickfit.findings import MIN_GAIN
from quickfit.fixing.tuned_trials import Training, Tried, pays_after
from quickfit.lab.proof import PAIRS
from quickfit.tuning.advice.report import loss_figure
from quickfit.tuning.advice.result import ChangeKind, ChangeRow, ChangeVerdict, LossChange

# Below this it is not only no gain but a loss worth telling.
SLOWER = 0.95
NOT_COMPARED = (
    "an epoch takes longer than a trial, so that equally many samples could not be compared;"
    " measure it with module:function"
)


def row_of(tried: Tried, training: Training) -> ChangeRow:
    """Return the row of a setting."""
    offer, outcome, seen = tried.offer, tried.outcome, tried.seen
    verdict, reason = verdict_of(tried)
    if outcome is None or outcome.measured is None or not tried.is_compared:
        return ChangeRow(offer.name, offer.kind, verdict, reason=reason, setting=offer.setting)
    return ChangeRow(
        offer.name,
        offer.kind,
        verdict,
        outcome.measured,
        seen.cpu,
        seen.peak_bytes,
        seen.more_bytes,
        seen.compile_s if "jit" in offer.setting else None,
        pays_after(tried, training),
        seen.loss,
        reason,
        offer.setting,
    )


def verdict_of(tried: Tried) -> tuple[ChangeVerdict, str]:
    """Return what came of a setting, and why."""
    outcome = tried.outcome
    if outcome is None:
        return ChangeVerdict.NOT_TRIED, tried.why
    if outcome.why.startswith("not tried: "):
        return ChangeVerdict.NOT_TRIED, outcome.why.removeprefix("not tried: ")
    measured = outcome.measured
    if measured is None:
        return ChangeVerdict.FAILED, outcome.why
    if not tried.is_compared:
        return ChangeVerdict.NOT_TRIED, NOT_COMPARED
    if outcome.is_accepted:
        return _of_gain(tried)
    if (measured.high if measured.pairs > 1 else measured.mean) < SLOWER:
        return ChangeVerdict.SLOWER, ""
    if measured.pairs < PAIRS and measured.mean >= MIN_GAIN:
        return ChangeVerdict.NOT_DECIDED, outcome.why
    return ChangeVerdict.NO_GAIN, outcome.why


def _of_gain(tried: Tried) -> tuple[ChangeVerdict, str]:
    """Judge what is faster for sure: by its loss, and by whether it pays in this training."""
    loss = tried.seen.loss
    if loss is not None and loss.is_worse:
        return ChangeVerdict.LEARNS_LESS, _worse_text(loss, tried.offer.kind)
    return (ChangeVerdict.NO_GAIN, tried.why) if tried.why else (ChangeVerdict.ADVISED, "")


def _worse_text(loss: LossChange, kind: ChangeKind) -> str:
    text = (
        f"over the first {units.count(loss.samples)} samples the mean loss is"
        f" {loss_figure(loss.after)}, and {loss_figure(loss.unchanged)} as it is"
    )
    if kind is ChangeKind.BATCH:
        return f"{text}; a larger batch takes fewer steps and usually wants a higher learning rate"
    return text

"""Says how far the results of an edited script are those of the original."""

from __future__ import annotations

import math
from dataclasses import dataclass

from quickfit.findings import FixClass
from quickfit.proof.batches import BatchAnswer, compare_batches
from quickfit.proof.kept import Results

# Of the losses of the first steps: rounding that grows stays far below this.
CLOSE = 2e-3
VERY_CLOSE = 1e-4
CLOSE_STEPS = 8
# The largest difference of a value in a batch that is still the same image: 3 of 255 steps.
CLOSE_VALUES = 3.0 / 255.0


@dataclass(frozen=True)
class Answer:
    """How the results compare.

    Args:
        kind: the lowest class that is true of what was seen; None where results speak against it.
        text: what was seen, in a few words.
    """

    kind: FixClass | None
    text: str


def judge(
    first: Results,
    again: Results,
    edited: Results,
    *,
    claimed: FixClass,
    epoch_steps: tuple[int, int],
) -> Answer:
    """Return what the results of an edited script are.

    Args:
        first: of the original.
        again: of the original, a second time: where it differs, losses cannot be compared.
        edited: of the edited script.
        claimed: the class that the fix claims to be of.
        epoch_steps: batches in the first epoch of the original and of the edited script.
    """
    if not _trains(edited):
        return Answer(None, "no step of training was seen")
    if not _is_finite(edited) and _is_finite(first):
        return Answer(None, "the loss is not a number")
    if claimed == FixClass.REPAIRS:
        return Answer(FixClass.REPAIRS, f"it trains: {_said_of(edited)}")
    batches = compare_batches(first, edited, epoch_steps)
    is_comparable = _steps_apart(first, again) is None
    apart = _steps_apart(first, edited)
    if is_comparable and apart is None:
        steps = len(first.weights.keys() & edited.weights.keys())
        return _lower(claimed, FixClass.SAME_RESULTS, f"bit-equal, {steps} steps")
    return _less_than_equal(first, edited, batches, claimed, is_comparable=is_comparable)


def _less_than_equal(
    first: Results,
    edited: Results,
    batches: BatchAnswer,
    claimed: FixClass,
    *,
    is_comparable: bool,
) -> Answer:
    away = _losses_apart(first, edited)
    losses = f"losses within {away:.0e}" if away is not None and is_comparable else ""
    said = _batches_said(batches)
    text = "; ".join(part for part in (said, losses) if part)
    if not is_comparable:
        text = f"{text}; losses differ from run to run".removeprefix("; ")
    if claimed == FixClass.MAY_CHANGE_RESULTS:
        return Answer(claimed, text or "other results, as said")
    if batches.kind == "same" and not is_comparable:
        return _lower(claimed, FixClass.SAME_RESULTS, text)
    is_near = is_comparable and away is not None and away <= CLOSE
    if batches.kind in ("same", "unseen") and (
        is_near or (away is None and _weights_near(first, edited))
    ):
        return _lower(claimed, FixClass.EQUIVALENT, text or "weights within rounding")
    if batches.kind == "close" and batches.difference <= CLOSE_VALUES:
        return _lower(claimed, FixClass.EQUIVALENT, text)
    if batches.kind == "other-order":
        return _lower(claimed, FixClass.EQUIVALENT, text)
    # Batches in other units, as bytes that the model itself scales: the losses must agree better.
    if is_near and (batches.kind != "different" or (away or 0.0) <= VERY_CLOSE):
        return _lower(claimed, FixClass.EQUIVALENT, text)
    return Answer(None, f"the results are others: {text or 'nothing to compare was seen'}")


def _lower(claimed: FixClass, seen: FixClass, text: str) -> Answer:
    """Return the lower of two classes: what was seen proves no more than what is claimed."""
    order = (FixClass.SAME_RESULTS, FixClass.EQUIVALENT, FixClass.MAY_CHANGE_RESULTS)
    if claimed not in order:
        return Answer(claimed, text)
    return Answer(max(claimed, seen, key=order.index), text)


def _batches_said(batches: BatchAnswer) -> str:
    rows = f"{batches.rows} rows"
    order = "" if batches.is_ordered else ", in another order"
    return {
        "same": f"same batches ({rows})",
        "other-order": f"same rows in an epoch ({rows}), in another order",
        "close": f"same rows ({rows}){order}, values within {batches.difference * 255:.1f}/255",
        "different": "other batches",
    }.get(batches.kind, "")


def _said_of(results: Results) -> str:
    if not results.losses:
        return f"{results.last_weights} steps"
    last = max(results.losses)
    loss = next(iter(results.losses[last].values()), math.nan)
    return f"{last} steps, loss {loss:.4g}"


def _trains(results: Results) -> bool:
    return bool(results.losses or results.weights)


def _is_finite(results: Results) -> bool:
    return all(math.isfinite(v) for values in results.losses.values() for v in values.values())


def _steps_apart(first: Results, second: Results) -> int | None:
    """Return the first step at which losses or weights are not equal bit by bit, or None."""
    shared = sorted(first.weights.keys() & second.weights.keys())
    apart = [step for step in shared if first.weights[step] != second.weights[step]]
    losses = _shared_losses(first, second)
    apart += [s for s in losses if _first_loss(first, s) != _first_loss(second, s)]
    if not shared and not losses:
        return 0
    return min(apart, default=None)


def _shared_losses(first: Results, second: Results) -> list[int]:
    """Return the steps whose losses mean the same in both: not a mean here and a batch there."""
    if first.loss_channels != second.loss_channels:
        return []
    return sorted(first.losses.keys() & second.losses.keys())


def _first_loss(results: Results, step: int) -> float | None:
    """Return the loss; metrics may be named and ordered in other ways."""
    values = results.losses[step]
    value = values.get("loss", next(iter(values.values()), None))
    return None if value is not None and math.isnan(value) else value


def _losses_apart(first: Results, second: Results) -> float | None:
    """Return the largest relative difference of the losses of the first steps."""
    steps = _shared_losses(first, second)[:CLOSE_STEPS]
    pairs = [(_first_loss(first, step), _first_loss(second, step)) for step in steps]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return max((abs(a - b) / max(abs(a), 1e-12) for a, b in known), default=None)


def _weights_near(first: Results, second: Results) -> bool:
    """Tell whether the weights after the first steps differ by rounding only."""
    shared = sorted(first.weights.keys() & second.weights.keys())
    early = [step for step in shared if step <= CLOSE_STEPS][-1:] or shared[:1]
    if not early:
        return False
    ones, others = first.weights_at(early[0]), second.weights_at(early[0])
    if not ones or [a.shape for a in ones] != [b.shape for b in others]:
        return False
    return all(_array_near(a, b) for a, b in zip(ones, others, strict=True))


def _array_near(one: object, other: object) -> bool:
    import numpy as np

    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    scale = max(float(np.abs(a).max(initial=0.0)), 1e-6)
    return bool(np.abs(a - b).max(initial=0.0) <= CLOSE * scale)

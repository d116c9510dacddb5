"""Labelled data in four parts that share no sample: to calibrate, to train, to choose, to judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quickfit.errors import UsageError

# Arrays are `Any`: indices and labels of any type.

# More calibration samples change accuracies by less than their spread over seeds.
MOST_CALIBRATION = 256
_CALIBRATION_SHARE, _SELECTION_SHARE, _HELD_OUT_SHARE = 0.2, 0.2, 0.25
# Fewer cannot be divided into four parts that say anything.
FEWEST = 40
# From so many on, one sample is at most half a point.
_ENOUGH = 200


@dataclass(frozen=True)
class Parts:
    """The places of the samples of each part, sorted.

    Args:
        calibration: shows transformations what the model sees.
        tuning: trains what was made.
        selection: chooses among checkpoints and candidates.
        held_out: judges what was chosen; nothing else has seen it.
        notes: what a person should know about them.
    """

    calibration: Any
    tuning: Any
    selection: Any
    held_out: Any
    notes: tuple[str, ...] = ()


def parts_of(labels: Any, *, seed: int = 0, needs_held_out: bool = True) -> Parts:
    """Divide samples; every class comes to every part in its share, as far as it has enough.

    Args:
        labels: one per sample; a number or anything else with a first axis.
        seed: the same one divides the same number of samples in the same way.
        needs_held_out: whether a part is needed to judge by; otherwise it stays empty.

    Raises:
        UsageError: there are too few samples.
    """
    count = len(labels)
    if count < FEWEST:
        raise UsageError(
            f"{count} labelled samples are too few: they are divided into four parts (to calibrate,"
            f" to train, to choose, to judge). Give {FEWEST} at least, better a thousand."
        )
    order = _mixed(labels, seed)
    sizes = _sizes(count, needs_held_out=needs_held_out)
    places = _dealt(order, sizes)
    calibration, tuning, selection, held_out = places
    return Parts(calibration, tuning, selection, held_out, _notes(len(held_out)))


def _sizes(count: int, *, needs_held_out: bool) -> tuple[int, int, int, int]:
    held_out = round(count * _HELD_OUT_SHARE) if needs_held_out else 0
    selection = round(count * _SELECTION_SHARE)
    calibration = min(MOST_CALIBRATION, round(count * _CALIBRATION_SHARE))
    return calibration, count - calibration - selection - held_out, selection, held_out


def _mixed(labels: Any, seed: int) -> Any:
    """Return the places so that any stretch of them has every class in about its share."""
    draw = np.random.default_rng(seed)
    order = draw.permutation(len(labels))
    classes = np.asarray(labels)
    if classes.ndim != 1 or classes.dtype.kind not in "biuUS":
        return order
    ranks = np.empty(len(order))
    for one in np.unique(classes):
        mine = order[classes[order] == one]
        # Each class is spread evenly over the whole; chance decides where it begins.
        ranks[mine] = (np.arange(len(mine)) + draw.random()) / len(mine)
    return np.argsort(ranks, kind="stable")


def _dealt(order: Any, sizes: tuple[int, ...]) -> list[Any]:
    """Cut the order into parts. It is spread evenly, so that each cut has every class."""
    ends = np.cumsum(sizes)
    return [
        np.sort(order[end - size : end]) for size, end in zip(sizes, ends.tolist(), strict=True)
    ]


def _notes(held_out: int) -> tuple[str, ...]:
    if not held_out or held_out >= _ENOUGH:
        return ()
    return (
        f"Only {held_out} samples are left to judge by, so one of them is {100 / held_out:.1f}"
        " points: accuracies are that coarse. Give more data for a finer answer.",
    )

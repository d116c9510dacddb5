"""How many steps each epoch of `fit` ran, against how many it was asked for."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from quickfit.signals._facade import Signals
from quickfit.signals.merging import EPOCHS_APART


@dataclass(frozen=True)
class EpochLengths:
    """The steps of the epochs that ended, in order.

    Args:
        steps: of each epoch.
        asked: by `steps_per_epoch`, or by the data's own length; None where neither says so.
        is_asked: whether the script gave `steps_per_epoch`.
        data_batches: how many batches the data says it has; None where it does not say.
        ran_out: how often Keras's warning was read in the log; None where nobody read it.
    """

    steps: tuple[int, ...]
    asked: int | None
    is_asked: bool
    data_batches: int | None
    ran_out: int | None

    @property
    def expected(self) -> int:
        """The steps an epoch was to have: as asked, or as the longest one had."""
        return self.asked or max(self.steps, default=0)

    @property
    def short(self) -> tuple[int, ...]:
        """The steps of the epochs that ended early, the last epoch left out.

        A callback, or the user, may end training in the middle of the last one.
        """
        return tuple(steps for steps in self.steps[:-1] if steps < self.expected)

    @property
    def lost_share(self) -> float:
        """The share of the steps asked for that were never run."""
        asked = self.expected * len(self.steps)
        return max(1 - sum(self.steps) / asked, 0.0) if asked else 0.0


def epoch_lengths(signals: Signals) -> EpochLengths:
    """Return how long the epochs of the loop were, of those whose steps are all recorded."""
    loop, process = signals.loop, signals.process
    rows = [row for row in process.rows("steps") if row["loop"] == loop.id]
    counts = Counter(row["epoch"] for row in rows)
    numbers = _of_last_call([epoch.number for epoch in signals.epochs])
    if any(row["loop"] == loop.id for row in process.rows("step_blocks")) and rows:
        # Of the oldest epochs, steps were merged: they cannot be counted.
        numbers = [number for number in numbers if number > rows[0]["epoch"]]
    each = signals.steps_per_execution
    facts = loop.facts
    given, own = _whole(facts.get("steps_per_epoch")), _whole(facts.get("data_batches"))
    asked = given if given is not None else own
    return EpochLengths(
        tuple(counts[number] for number in numbers),
        math.ceil(asked / each) if asked else None,
        given is not None,
        math.ceil(own / each) if own else None,
        _ran_out(signals),
    )


def _of_last_call(epochs: list[int]) -> list[int]:
    """Return the epochs of the newest call: each call of `fit` at one line has data of its own."""
    return [number for number in epochs if number // EPOCHS_APART == epochs[-1] // EPOCHS_APART]


def _ran_out(signals: Signals) -> int | None:
    """Return how often Keras said that the input ran out; the script may have silenced it."""
    if "log_lines" not in signals.recording.run:
        return None
    line = signals.log_lines.get("ran-out-of-data")
    return line.count if line else 0


def _whole(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None

"""How many steps the epochs of `fit` run: by the text, and as recorded."""

from __future__ import annotations

import ast
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quickfit.causes._shared.batches_in_text import Batched, batched, counts_samples
from quickfit.code.counting import Counting, batches_of
from quickfit.code.datasets import chains
from quickfit.code.keras_models import Feed
from quickfit.code.program import Program, is_same_thing
from quickfit.code.syntax import argument
from quickfit.code.values import Instance, Routine
from quickfit.signals.loops import EPOCHS_APART

if TYPE_CHECKING:
    from quickfit.signals._facade import Signals

# Further ones repeat what the first ones do.
MAX_EPOCHS = 12


@dataclass(frozen=True)
class Epochs:
    """The epochs of one call.

    Args:
        asked: steps per epoch that are asked for.
        batches: that the data has.
        steps: that the epochs run.
    """

    asked: int
    batches: int
    steps: tuple[int, ...]

    @property
    def lost_share(self) -> float:
        """The part of the steps asked for that is not run, the last epoch left out."""
        seen = self.steps[:-1]
        return 1 - sum(seen) / (self.asked * len(seen)) if seen else 0.0


def epochs_of(program: Program, feed: Feed) -> Epochs | None:
    """Return how the epochs of a call run; None where a number is not known."""
    if feed.fitting.given("validation_split") is not None:
        return None  # what is trained on is a part of it
    count = Counting(program, feed.fitting.module)
    asked, number = count.number(feed.steps), count.number(feed.fitting.given("epochs"))
    if not isinstance(asked, int) or not isinstance(number, int) or asked < 1:
        return None
    if number < 2:
        return Epochs(asked, 0, ())
    batches = _batches(program, feed)
    if batches is None:
        return None
    return Epochs(asked, batches, _steps(asked, batches, min(number, MAX_EPOCHS)))


def _steps(asked: int, batches: int, number: int) -> tuple[int, ...]:
    """Return what each epoch runs: Keras goes on where the last one ended, up to the end."""
    steps, left = [], batches
    for _ in range(number):
        steps.append(min(asked, left))
        left = left - steps[-1] or batches
    return tuple(steps)


def _batches(program: Program, feed: Feed) -> int | None:
    """Return how many batches one pass over the data has."""
    module = feed.fitting.module
    only = program.only(module, feed.data)
    if isinstance(only, Instance):
        known = "keras.utils.PyDataset" in program.ancestors(only)
        return batches_of(program, only) if known else None
    data = batched(program, feed)
    if data is None or data.lasts != "epoch" or not data.samples:
        return None
    size = Counting(program, data.size[0]).number(data.size[1])
    where, sample = data.samples[0]
    samples = Counting(program, where).length(sample)
    if not isinstance(size, int) or samples is None or size < 1:
        return None
    drops = _drops(program, feed)
    if drops is None:
        return None
    return samples // size if drops else math.ceil(samples / size)


def _drops(program: Program, feed: Feed) -> object:
    """Return whether a dataset leaves out a smaller last batch; None where that is open."""
    for chain in chains(program, feed.fitting.module, feed.data):
        for stage in chain.stages:
            at = {"batch": 1, "padded_batch": 3}.get(stage.name)
            given = argument(stage.call, "drop_remainder", at) if at is not None else None
            if given is not None:
                return program.literal(stage.module, given, stage.frame)
    return False


def leaves_last_batch(program: Program, feed: Feed) -> bool:
    """Tell whether the steps are whole batches, and the data has a smaller one behind them."""
    data = batched(program, feed)
    steps = feed.steps
    if data is None or data.lasts != "epoch" or not isinstance(steps, ast.BinOp):
        return False
    if feed.fitting.given("validation_split") is not None:
        return False
    if not isinstance(steps.op, ast.FloorDiv) or _drops(program, feed) is not False:
        return False
    if not _rounds_up(program, feed) or not _is_size(program, feed, steps.right, data):
        return False
    module = feed.fitting.module
    epochs = feed.fitting.given("epochs")
    if epochs is None or Counting(program, module).number(epochs) == 1:
        return False
    return counts_samples(program, feed, steps.left, data)


def _is_size(program: Program, feed: Feed, node: ast.expr, data: Batched) -> bool:
    module = feed.fitting.module
    known = program.literal(module, node)
    if known is not None and known == program.literal(*data.size):
        return True
    return is_same_thing(program, (module, node), data.size)


def _rounds_up(program: Program, feed: Feed) -> bool:
    """Tell whether a PyDataset counts a smaller last batch; Keras and tf.data do."""
    only = program.only(feed.fitting.module, feed.data)
    if not isinstance(only, Instance):
        return True
    found = program.resolver.attribute(only.made, "__len__")
    texts = [ast.unparse(f.node) for f in found if isinstance(f, Routine)]
    return any("ceil" in text or "-(-" in text for text in texts)


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

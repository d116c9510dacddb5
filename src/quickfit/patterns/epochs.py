"""How many steps the epochs of a call of `fit` run, where the data ends by itself."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass

from quickfit.patterns.batch_functions import Batched
from quickfit.patterns.batching import batched
from quickfit.patterns.step_counts import counts_samples
from quickfit.program import Program, argument
from quickfit.program.counting import Counting, batches_of
from quickfit.program.datasets import chains
from quickfit.program.fitting import Feed
from quickfit.program.sameness import is_same
from quickfit.program.values import Instance, Routine

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
    return is_same(program, (module, node), data.size)


def _rounds_up(program: Program, feed: Feed) -> bool:
    """Tell whether a PyDataset counts a smaller last batch; Keras and tf.data do."""
    only = program.only(feed.fitting.module, feed.data)
    if not isinstance(only, Instance):
        return True
    found = program.resolver.attribute(only.made, "__len__")
    texts = [ast.unparse(f.node) for f in found if isinstance(f, Routine)]
    return any("ceil" in text or "-(-" in text for text in texts)

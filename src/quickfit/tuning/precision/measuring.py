"""Trains a model in float32 and in 16 bits, in two processes that take turns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from quickfit.errors import ModelError
from quickfit.measuring.intervals import Measured, interval
from quickfit.tuning.trials.answers import Block, Learned, Ready, TrialFailed
from quickfit.tuning.trials.settings import Setting

# Blocks of each side in a pair, and how long one lasts at least.
TURNS = 4
BLOCK_S = 0.4
MIN_STEPS = 3
# Pairs that a gain must be seen in. A first pair without one is enough to say no.
MAX_PAIRS = 3
# Below this, a gain is smaller than what changes from run to run.
MIN_GAIN = 1.05
# Enough for a loss to move, little enough to wait for.
LEARN_STEPS = 30


class Child(Protocol):
    """A process that trains on command, as `trials.trial.Trial` is."""

    def start(self) -> None: ...
    def ready(self) -> Ready: ...
    def run(self, steps: int) -> Block: ...
    def learn(self, samples: int) -> Learned: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Side:
    """How one precision did: over all pairs the time of a sample, and what was learned."""

    sample_s: float
    sample_cpu_s: float
    peak_bytes: int
    learned: Learned


@dataclass(frozen=True)
class Comparison:
    """float32 and 16 bits on the same model and data; `speedup` is of 16 bits over float32."""

    speedup: Measured
    full: Side
    half: Side
    batch: int


@dataclass(frozen=True)
class Refused:
    """The model does not train in 16 bits as it is, and the child's words about it."""

    text: str


Sides = tuple[Child, Child]
Blocks = tuple[list[Block], list[Block]]


class _HalfFailed(Exception):  # noqa: N818 - an answer about 16 bits
    """The side in 16 bits came to nothing."""


def compare(
    make: Callable[[Setting], Child],
    settings: tuple[Setting, Setting],
    *,
    enough: float = 1.0,
    tell: Callable[[str], None] = lambda text: None,
) -> Comparison | Refused:
    """Return how float32 and 16 bits did, over three pairs of fresh processes at most.

    Args:
        make: makes a trial of a setting.
        settings: float32, and 16 bits.
        enough: a pair with a gain below this is the last.
        tell: is told what goes on.

    Raises:
        ModelError: the model does not train in float32 either.
    """
    try:
        return _compared(make, settings, enough, tell)
    except _HalfFailed as failed:
        return Refused(str(failed))


def _compared(
    make: Callable[[Setting], Child],
    settings: tuple[Setting, Setting],
    enough: float,
    tell: Callable[[str], None],
) -> Comparison:
    blocks: list[Blocks] = []
    while True:
        tell(f"precision: pair {len(blocks) + 1} of at most {MAX_PAIRS}")
        is_swapped = len(blocks) % 2 == 1
        with ExitStack() as closing:
            sides = _begun(make, settings, closing, is_swapped=is_swapped)
            blocks.append(_turns(sides, is_swapped=is_swapped))
            if len(blocks) == MAX_PAIRS or _ratio(blocks[-1]) < enough:
                batch = sides[0].ready().batch
                return _together(blocks, _learned(sides, LEARN_STEPS * batch), batch)


def _begun(
    make: Callable[[Setting], Child],
    settings: tuple[Setting, Setting],
    closing: ExitStack,
    *,
    is_swapped: bool,
) -> Sides:
    """Start both sides and wait until they have trained a little."""
    sides = make(settings[0]), make(settings[1])
    for side in sides[::-1] if is_swapped else sides:
        closing.callback(side.close)
        side.start()
    for who in (0, 1):
        with _answering(who):
            sides[who].ready()
    return sides


def _turns(sides: Sides, *, is_swapped: bool) -> Blocks:
    """Let both sides train in turn: A B, B A, and so on."""
    steps = [max(math.ceil(BLOCK_S / one.ready().step_s), MIN_STEPS) for one in sides]
    blocks: Blocks = ([], [])
    for turn in range(TURNS):
        order = (0, 1) if (turn % 2 == 0) is not is_swapped else (1, 0)
        for who in order:
            with _answering(who):
                blocks[who].append(sides[who].run(steps[who]))
    return blocks


def _learned(sides: Sides, samples: int) -> tuple[Learned, Learned]:
    with _answering(0):
        full = sides[0].learn(samples)
    with _answering(1):
        return full, sides[1].learn(samples)


@contextmanager
def _answering(who: int) -> Iterator[None]:
    """Tell a failure by the side it happened on."""
    try:
        yield
    except TrialFailed as failed:
        if who == 1:
            raise _HalfFailed(f"{failed.failure}: {failed.text}") from failed
        raise ModelError(
            f"the model does not train on these data in float32 ({failed.failure}), so "
            f"nothing was measured:\n{failed.text}\n"
            "Do model and data fit together? `model.fit` with the same data must work first. For "
            "an answer from hardware and model alone: advise_precision(model, measure=False)."
        ) from failed


def _ratio(pair: Blocks) -> float:
    return _sample_s(pair[0]) / _sample_s(pair[1])


def _sample_s(blocks: Sequence[Block]) -> float:
    return sum(block.wall_s for block in blocks) / sum(block.samples for block in blocks)


def _together(pairs: list[Blocks], learned: tuple[Learned, Learned], batch: int) -> Comparison:
    full = _side([block for pair in pairs for block in pair[0]], learned[0])
    half = _side([block for pair in pairs for block in pair[1]], learned[1])
    return Comparison(interval([_ratio(pair) for pair in pairs]), full, half, batch)


def _side(blocks: list[Block], learned: Learned) -> Side:
    samples = sum(block.samples for block in blocks)
    cpu_s = sum(block.cpu_s for block in blocks)
    peak_bytes = max(block.peak_bytes for block in blocks)
    return Side(_sample_s(blocks), cpu_s / samples, peak_bytes, learned)

"""A shuffle holds decoded elements, so every epoch starts by decoding a bufferful.

Why it is slow: `shuffle(n)` gives nothing before it holds n elements. When they are decoded
images and not file names, the model waits at the start of each epoch while n of them are made,
and all of them lie in memory.

How it shows: the first step of an epoch takes much longer than the others, about as long as the
stages above the shuffle need for a bufferful, and the shuffle's elements are many times larger
than those of the source.

Example:
    ds = tf.data.Dataset.from_tensor_slices(paths).map(decode).shuffle(5000).batch(32)

Use instead:
    ds = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths)).map(
        decode, num_parallel_calls=tf.data.AUTOTUNE).batch(32)

Fix class: may change results. The elements come in another random order; a full shuffle of the
paths mixes better than a buffer of decoded ones.

When it is wrong: after a `cache` of decoded elements a refill is only a copy. The start of one
long epoch is a small part of it and is not reported. Elements that come as they are from files or
a generator cannot be shuffled earlier: `shuffle-buffer-too-big`.
"""

from __future__ import annotations

from collections.abc import Iterator

from quickfit.causes._cause import Cause, example
from quickfit.causes._shared.dataset_chains import shuffle_first
from quickfit.causes._shared.dataset_elements import steps
from quickfit.causes._shared.own_example import with_own_sizes
from quickfit.code.conditions import is_for_tests
from quickfit.code.datasets import Chain, chains
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import argument
from quickfit.findings import (
    MIN_GAIN,
    Change,
    Effect,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Spotted,
    Symptom,
)
from quickfit.signals import Signals
from quickfit.signals.dataset_chains import is_repeated, steady_lines
from quickfit.signals.shuffle import gain_of_overlap, holds_decoded, refill

# Below a tenth of the time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# The stages above must explain at least this part of the slow start.
MIN_EXPLAINED = 0.3


# A smaller buffer is full in a moment.
MIN_BUFFER = 100
DECODES = "tensorflow.io.decode_"
NOT_IMAGES = ("raw", "csv", "json_example", "proto", "base64", "compressed")


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Hint at shuffles behind a map that decodes images, without a cache between."""
    if is_for_tests(module):
        return
    for call in module.calls("shuffle"):
        size = program.literal(module, argument(call, "buffer_size", 0))
        if isinstance(size, int) and size < MIN_BUFFER:
            continue
        found = chains(program, module, call)
        before = [Chain(chain.before(call), chain.is_whole) for chain in found]
        if before and all(_is_decoded(program, chain) for chain in before):
            yield Spotted(
                where=module.span(call),
                summary="`shuffle` holds decoded images: each epoch begins when its buffer is full",
                effect=Effect.SLOW,
                is_hint=True,
            )


def _is_decoded(program: Program, chain: Chain) -> bool:
    names = [stage.name for stage in chain.stages]
    last = len(names) - 1 - names[::-1].index("cache") if "cache" in names else -1
    maps = [stage for stage in chain.stages[last + 1 :] if stage.name == "map"]
    if not chain.is_whole or last >= 0:
        return False
    called = [step.name for stage in maps for step in steps(program, stage)]
    return any(n.startswith(DECODES) and not n.endswith(NOT_IMAGES) for n in called)


def detect(signals: Signals) -> Finding | None:
    """Report a shuffle of large elements whose refill the steps wait for."""
    if signals.py_input is not None:
        return None
    shuffle = signals.shuffle
    if shuffle is None or shuffle.location is None or shuffle.is_after_cache:
        return None
    if not holds_decoded(signals, shuffle):
        return None  # shuffle-buffer-too-big
    found = refill(signals, shuffle)
    if found.share < MIN_SHARE or found.explained_s < MIN_EXPLAINED * found.start_s:
        return None
    cores = f"decoding goes on beside the model, on {signals.cores:g} cores that they share"
    gained = gain_of_overlap(signals, found, cores)
    if gained.likely < MIN_GAIN:
        return None
    return Finding(
        summary="`shuffle` holds decoded elements and is refilled before every epoch",
        where=shuffle.location,
        evidence=(
            Evidence(
                "before the first step of an epoch",
                found.start_s,
                "s",
                found.when,
            ),
            Evidence(
                "in the shuffle's buffer", shuffle.bytes, "bytes", f"{shuffle.elements} elements"
            ),
            Evidence(
                "of work above it to fill that",
                found.explained_s,
                "s",
                "by tf.data's own model of the pipeline",
            ),
        ),
        gain=gained,
        cost_share=found.share,
        claims=("first_step",) if found.is_once else ("epoch_start", "input_wait"),
        is_of_whole=found.is_once,
        not_found=("a cache between the decoding and the shuffle",),
    )


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show where the shuffle belongs."""
    shown = Fix(
        title="Shuffle the paths before they are read, not the images after",
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note="The order stays random, but it is another one than before.",
    )
    return with_own_sizes(shown, signals)


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Move the shuffle before the maps."""
    where = finding.where
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return []
    steady = steady_lines(signals, where.file)
    change = shuffle_first(module, where.line, steady=steady, is_repeated=is_repeated(signals))
    return [change] if change is not None else []


CAUSE = Cause(
    title="A shuffle holds decoded elements",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    fix=fix,
    changes=changes,
    resource="the shuffle's refill",
)

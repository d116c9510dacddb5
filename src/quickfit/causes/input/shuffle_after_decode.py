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
long epoch is a small part of it and is not reported.
"""

from __future__ import annotations

import statistics

from quickfit.causes._cause import Cause, example
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import gain
from quickfit.signals.input import Stage

# Below a tenth of the time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# Decoded images are thousands of times larger than their path; ten is the least worth moving.
MIN_GROWTH = 10
# Elements smaller than this are cheap to hold, whatever they are.
MIN_ELEMENT_BYTES = 4096
# The stages above must explain at least this part of the slow start.
MIN_EXPLAINED = 0.3
# Never tell of a fix that would gain less.
MIN_GAIN = 1.05


def detect(signals: Signals) -> Finding | None:
    """Report a shuffle of large elements whose refill the steps wait for."""
    if signals.py_input is not None:
        return None
    found = _shuffle_and_source(signals)
    if found is None:
        return None
    shuffle, source_bytes = found
    fills = signals.epoch_start_s
    # The first epoch also warms everything up; the later ones show what each epoch costs.
    fill_s = statistics.median(fills[1:] or fills)
    epoch_s = _epoch_s(signals)
    share = min(fill_s / epoch_s, 1.0) if epoch_s else 0.0
    if share < MIN_SHARE:
        return None
    expected_s = _expected_fill_s(signals, shuffle)
    if expected_s < MIN_EXPLAINED * fill_s:
        return None
    # The refill is work that is needed anyway; what is lost is that the model waits for it.
    busy_s = min(signals.machine.cpu_cores / signals.cores, 1.0) * epoch_s
    best_s = max(epoch_s - fill_s, min(busy_s, epoch_s))
    likely_s = (best_s + epoch_s - 0.5 * fill_s) / 2
    gained = gain(
        epoch_s,
        (max(best_s, epoch_s - 0.3 * fill_s), max(best_s, likely_s), epoch_s - fill_s),
        "the model no longer waits for the refill; the decoding itself stays",
    )
    if gained.likely < MIN_GAIN:
        return None
    return Finding(
        summary="`shuffle` holds decoded elements and is refilled before every epoch",
        where=shuffle.location,
        evidence=(
            Evidence(
                "before the first step of an epoch",
                fill_s,
                "s",
                f"median of {len(fills[1:] or fills)} epochs of {epoch_s:.1f} s",
            ),
            Evidence(
                "in the shuffle's buffer",
                shuffle.buffered_bytes,
                "bytes",
                f"{shuffle.buffered} elements",
            ),
            Evidence("times the source's element", shuffle.element_bytes / source_bytes, "factor"),
            Evidence("work to refill it, by tf.data's model", expected_s, "s"),
        ),
        gain=gained,
        cost_share=share,
        claims=("epoch_start",),
        not_found=("a cache between the decoding and the shuffle",),
    )


def _shuffle_and_source(signals: Signals) -> tuple[Stage, float] | None:
    stages = signals.stages
    for place, stage in enumerate(stages):
        if stage.kind != "shuffle" or stage.location is None:
            continue
        above = stages[place + 1 :]
        if any(upper.kind == "cache" for upper in above):
            return None
        sizes = [s.element_bytes for s in above if s.element_bytes > 0 and s.per_step > 0]
        if not sizes or stage.element_bytes < MIN_ELEMENT_BYTES:
            continue
        if stage.element_bytes >= MIN_GROWTH * min(sizes):
            return stage, min(sizes)
    return None


def _expected_fill_s(signals: Signals, shuffle: Stage) -> float:
    """Return the time the stages above the shuffle need for what it holds."""
    above = signals.stages[signals.stages.index(shuffle) + 1 :]
    slowest_s = max(
        (s.work_s / max(s.parallelism, 1.0) / max(shuffle.per_step, 1e-9) for s in above),
        default=0.0,
    )
    wanted = shuffle.fact("buffer_size") or shuffle.buffered
    return slowest_s * max(min(wanted, max(shuffle.buffered, 1) * 2), shuffle.buffered)


def _epoch_s(signals: Signals) -> float:
    lengths = [epoch.end_s - epoch.begin_s - epoch.validation_s for epoch in signals.epochs]
    if lengths:
        return statistics.median(lengths[1:] or lengths)
    return signals.loop.duration_s


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show where the shuffle belongs."""
    return Fix(
        title="Shuffle the paths before they are read, not the images after",
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note="The order stays random, but it is another one than before.",
    )


CAUSE = Cause(
    title="A shuffle holds decoded elements", symptom=Symptom.SLOW, detect=detect, fix=fix
)

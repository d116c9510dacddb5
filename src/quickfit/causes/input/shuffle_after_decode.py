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
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import gain
from quickfit.signals.shuffle import ShuffleBuffer

# Below a tenth of the time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# Decoded images are thousands of times larger than their path; ten is the least worth moving.
MIN_GROWTH = 10
# Elements smaller than this are cheap to hold, whatever they are.
MIN_ELEMENT_BYTES = 4096
# The stages above must explain at least this part of the slow start.
MIN_EXPLAINED = 0.3
# How much of the refill hides behind the model's own time.
HIDDEN = (0.1, 0.4, 0.9)
# Never tell of a fix that would gain less.
MIN_GAIN = 1.05


def detect(signals: Signals) -> Finding | None:
    """Report a shuffle of large elements whose refill the steps wait for."""
    if signals.py_input is not None:
        return None
    shuffle = signals.shuffle
    if shuffle is None or not _holds_decoded(shuffle):
        return None
    fills = signals.epoch_start_s
    # The first epoch also warms everything up; the later ones show what each epoch costs.
    fills = fills[1:] or fills
    fill_s, epoch_s = statistics.median(fills), _epoch_s(signals)
    share = min(fill_s / epoch_s, 1.0) if epoch_s else 0.0
    if share < MIN_SHARE or shuffle.fill_s < MIN_EXPLAINED * fill_s:
        return None
    gained = _gain(fill_s, epoch_s, signals)
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
                f"median of {len(fills)} epochs of {epoch_s:.1f} s",
            ),
            Evidence(
                "in the shuffle's buffer", shuffle.bytes, "bytes", f"{shuffle.elements} elements"
            ),
            Evidence(
                "of work above it to fill that",
                shuffle.fill_s,
                "s",
                "by tf.data's own model of the pipeline",
            ),
        ),
        gain=gained,
        cost_share=share,
        claims=("epoch_start", "input_wait"),
        not_found=("a cache between the decoding and the shuffle",),
    )


def _holds_decoded(shuffle: ShuffleBuffer) -> bool:
    is_large = shuffle.element_bytes >= MIN_ELEMENT_BYTES
    # tf.data counts no bytes for paths and encoded files; unknown is small.
    has_grown = shuffle.source_bytes * MIN_GROWTH <= shuffle.element_bytes
    return is_large and has_grown and not shuffle.is_after_cache and shuffle.location is not None


def _gain(fill_s: float, epoch_s: float, signals: Signals) -> Gain:
    """Return the gain of making the elements while the model runs instead of before.

    The work of the refill stays; what is won is that both go on side by side, as far as the
    cores allow.
    """
    work = signals.work
    cpu_s = signals.machine.cpu_cores * epoch_s
    after = []
    for hidden, cores in zip(HIDDEN, work.cores_after(), strict=True):
        least_s = max(epoch_s - fill_s, fill_s, cpu_s / cores if work.is_shared else 0.0)
        after.append(max(least_s, epoch_s - hidden * fill_s))
    return gain(
        epoch_s,
        (after[0], after[1], after[2]),
        f"decoding goes on beside the model, on {work.cores:g} cores that they share",
    )


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

"""The same work on the same data is done in every epoch, and the step waits for it.

Why it is slow: what a pipeline has read, decoded and computed is thrown away at the end of an
epoch and made again in the next. Where the result fits into memory, that work is needed once.

How it shows: a tenth of the step time or more is spent waiting for input, most of the pipeline's
work gives the same result every time, and all of its results together fit into half of the
memory that is free.

Example:
    ds = tf.data.Dataset.from_tensor_slices(paths)
    ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.shuffle(1000).map(augment).batch(32).prefetch(tf.data.AUTOTUNE)

Use instead:
    ds = tf.data.Dataset.from_tensor_slices(paths)
    ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.cache()
    ds = ds.shuffle(1000).map(augment).batch(32).prefetch(tf.data.AUTOTUNE)

Fix class: same results, where all before the cache is the same in every epoch. A shuffle that
comes before has to move behind the cache, which gives another order.

When it is wrong: nothing random may come before a cache, or every epoch sees the same random
numbers: random operations, Python code and generators end the search. A single epoch gains
nothing. Data that does not fit into memory needs a file, `cache("file")`, or smaller elements.
Where other programs take the cores, the wait may be theirs, and nothing is reported.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example, waiting, waits_for_input
from quickfit.causes._shared.dataset_cache import cached, cached_as_bytes, cached_before_shuffle
from quickfit.causes._shared.own_example import with_own_sizes
from quickfit.code import Program
from quickfit.findings import MIN_GAIN, Change, Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.caching import CachePoint, cache_point, free_bytes, gain_if_kept, passes
from quickfit.signals.dataset_chains import is_cut_behind, is_repeated, shrunk_images, steady_lines
from quickfit.signals.python_input import is_crowded_out

# What would be saved must be most of what the pipeline does, or the wait stays.
MIN_WORK_SHARE = 0.50
# The first pass is never saved; before the second, there is nothing to gain.
MIN_PASSES = 2.0
# Less work per element than this is not the work, but the handling of single elements.
MIN_ELEMENT_WORK_S = 100e-6
# Shorter waits are the handing over of a batch, which a cached one needs as well.
MIN_WAIT_S = 0.001
# Work that is not slower than this is a conversion; reading it back costs nearly as much.
MIN_BYTE_WORK_S = 4e-9
# With this share of the cores idle, a stage on one thread is better spread than cached.
IDLE_SHARE = 0.25
# Images of more times the pixels that are wanted should be smaller, cached or not.
MAX_SHRINKING = 4.0


def detect(signals: Signals) -> Finding | None:
    """Report work that every epoch repeats and memory could hold."""
    if signals.loop.input in ("generator", "pydataset", "arrays", "python"):
        return None
    if not waits_for_input(signals) or signals.wait.step_s < MIN_WAIT_S:
        return None
    point = cache_point(signals, min_share=MIN_WORK_SHARE)
    if point is None or _is_other(point, signals) or is_crowded_out(signals):
        return None
    times, free = passes(signals, point), free_bytes(signals)
    if times < MIN_PASSES or point.size_bytes > free:
        return None
    kept = gain_if_kept(signals, point, times)
    if kept.gain.likely < MIN_GAIN:
        return None
    return Finding(
        summary="the same work on the same data is done again in every epoch",
        where=point.location,
        evidence=(
            waiting(signals),
            Evidence(
                "of work per step that gives the same every time",
                point.saved_s,
                "s",
                f"{kept.saved_share:.0%} of all work of the pipeline, on its threads",
            ),
            Evidence(
                "to keep all of it",
                point.size_bytes,
                "bytes",
                f"{point.elements} elements; {2 * free / 1e9:.1f} GB are free",
            ),
        ),
        gain=kept.gain,
        cost_share=kept.cost_share,
        claims=kept.claims,
        is_of_whole=True,
        not_found=("random operations before this place", "a cache"),
    )


def _is_other(point: CachePoint, signals: Signals) -> bool:
    """Tell whether a neighbouring cause is the better name."""
    slowest = point.saved[0]
    per_element_s = slowest.work_s / max(slowest.calls, 1.0)
    cheap_s = MIN_BYTE_WORK_S * point.size_bytes / max(point.elements, 1)
    if per_element_s < max(MIN_ELEMENT_WORK_S, cheap_s):
        return True  # map-not-vectorised, or nothing
    idle = 1.0 - signals.step_cores / signals.cores
    is_alone = slowest.carries("map") and slowest.parallelism <= 1
    if is_alone and idle > IDLE_SHARE:
        return True  # sequential-map
    images = shrunk_images(signals)
    if images is not None and images.stage == slowest and not images.is_cropped:
        return images.times >= MAX_SHRINKING and images.is_decoding  # decode-full-size
    return False


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Add `cache()` behind the last call whose result is the same every time."""
    point = cache_point(signals, min_share=MIN_WORK_SHARE)
    if point is None:
        return None
    note = (
        "Move the shuffle behind the cache: before it, its order would be kept for all epochs."
        if point.is_shuffled
        else ""
    )
    shown = Fix(
        title="Keep the result in memory: `cache()` after this call",
        kind=FixClass.MAY_CHANGE_RESULTS if point.is_shuffled else FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note=note,
    )
    return with_own_sizes(shown, signals)


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Add `cache()` where all before it is the same every time and an epoch reads all of it."""
    point, where = cache_point(signals, min_share=MIN_WORK_SHARE), finding.where
    module = program.find_module(where.file) if where is not None else None
    if point is None or where is None or module is None or is_cut_behind(signals, point.operation):
        return []
    method = str(point.operation.facts.get("call") or point.operation.kind)
    found = [cached(module, where.line, method=method, is_ordered=not point.is_shuffled)]
    if point.is_shuffled:
        moved = cached_before_shuffle(
            module,
            where.line,
            method=method,
            steady=steady_lines(signals, where.file),
            is_repeated=is_repeated(signals),
        )
        found.insert(0, moved)
    best = next((change for change in found if change is not None), None)
    if best is None:
        return []
    # Floats that just fit may not leave enough for the rest; bytes take a quarter.
    small = cached_as_bytes(module, where.line, best)
    return [best, small] if small is not None and best.kind == FixClass.SAME_RESULTS else [best]


CAUSE = Cause(
    title="The same input work is repeated in every epoch",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
)

"""A cache is never filled to its end, so it is thrown away and filled anew in every epoch.

Why it is slow: `cache()` keeps its elements only once the last one of the dataset has gone through
it. When an epoch stops earlier, by a `take` behind the cache, by leaving the loop, or because a
`repeat` before the cache never ends, all is dropped, and the next epoch does all the work again.

How it shows: a tenth of the step time or more is spent waiting for input; in the second epoch and
later the cache is still being filled, never read, and the stages before it do most of the work.

Example:
    ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.cache().take(1000)

Use instead:
    ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.take(1000).cache()

Or, where a repeat comes before the cache:
    ds = ds.map(decode, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.cache().repeat()

Fix class: same results. `take` keeps the first elements, before the cache as behind it. Where a
loop is left early, it is not known which elements it wants, and only the advice is shown.

When it is wrong: the first epoch always fills the cache, so nothing is said before the second. A
pipeline that is built anew for each epoch loses its cache too: `dataset-rebuilt-per-epoch`.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example, waiting, waits_for_input
from quickfit.causes._shared.dataset_cache import cache_before_repeat, take_before_cache
from quickfit.code import Program
from quickfit.findings import MIN_GAIN, Change, Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.caching import (
    CacheUse,
    Kept,
    cache_use,
    free_bytes,
    gain_if_kept,
    passes,
    point_after,
)
from quickfit.signals.dataset_chains import is_steady, steady_lines
from quickfit.signals.python_input import is_crowded_out

# What the cache would save must be most of what the pipeline does, or the wait stays.
MIN_WORK_SHARE = 0.50
# Later epochs in which the cache was seen being filled; one may have been an accident.
MIN_WRITTEN = 2
# The first pass is never saved; before the second, there is nothing to gain.
MIN_PASSES = 2.0


def detect(signals: Signals) -> Finding | None:
    """Report a cache that is filled again and again."""
    if signals.loop.input in ("generator", "pydataset", "arrays", "python"):
        return None
    if not waits_for_input(signals):
        return None
    use = cache_use(signals)
    if use is None or use.read:
        return None
    if use.written < MIN_WRITTEN and use.endless is None:
        return None
    total_s = sum(stage.work_s for stage in signals.stages)
    saved_s = sum(stage.work_s for stage in use.saved)
    if saved_s < MIN_WORK_SHARE * total_s or is_crowded_out(signals):
        return None
    kept = _gain(signals, use)
    if kept is None or kept.gain.likely < MIN_GAIN:
        return None
    return Finding(
        summary="this cache is never filled to its end, and never read",
        where=signals.location(use.operation.file, use.operation.line),
        evidence=(
            waiting(signals),
            _filled(use),
            Evidence(
                "of work per step before the cache",
                saved_s,
                "s",
                f"{kept.saved_share:.0%} of all work of the pipeline, on its threads",
            ),
        ),
        gain=kept.gain,
        cost_share=kept.cost_share,
        claims=kept.claims,
        is_of_whole=True,
        not_found=("an epoch in which the cache was read",),
    )


def _filled(use: CacheUse) -> Evidence:
    if use.endless is not None:
        return Evidence(
            "elements went into a cache that has no end",
            use.most,
            "count",
            f"{use.size} before the `repeat`, which never ends",
        )
    of = f" of {use.size}" if use.size else ""
    detail = f"it had at most {use.most}{of} elements"
    return Evidence("later epochs fill the cache again", use.written, "count", detail)


def _gain(signals: Signals, use: CacheUse) -> Kept | None:
    """Return what a complete cache would gain; None where it does not fit or is not asked for."""
    # Where it never ends, neither its number of elements nor its size is known of the cache.
    place = use.operation if use.endless is None else use.endless
    point = point_after(signals, place, list(use.saved))
    share = use.most / max(point.elements, 1)
    # A pass that is left early needs only a part of the elements.
    size_bytes = point.size_bytes * min(share, 1.0)
    times = passes(signals, point) if use.endless is None else share
    if size_bytes > free_bytes(signals) or times < MIN_PASSES:
        return None
    return gain_if_kept(signals, point, times)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Put the `take` or the `repeat` on the other side of the cache."""
    use = cache_use(signals)
    if use is None:
        return None
    if use.endless is not None:
        return Fix(
            title="Cache before the repeat",
            kind=FixClass.SAME_RESULTS,
            example=example(__doc__ or "", "Or, where a repeat comes before the cache"),
        )
    if use.taken is None:
        return Fix(
            title="Let an epoch read the dataset to its end, or take first what it needs",
            kind=FixClass.SHOW_ONLY,
            example=example(__doc__ or "", "Use instead"),
        )
    return Fix(
        title="Take first, then cache",
        kind=FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
    )


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Put the `take` or the `repeat` on the other side of the cache."""
    use, where = cache_use(signals), finding.where
    module = program.find_module(where.file) if where is not None else None
    if use is None or where is None or module is None or not is_steady(signals, use.operation):
        return []  # what is random before the cache would be kept for all epochs
    if use.endless is not None:
        steady = steady_lines(signals, where.file)
        change = cache_before_repeat(module, where.line, steady=steady)
    else:
        change = take_before_cache(module, where.line) if use.taken is not None else None
    return [change] if change is not None else []


CAUSE = Cause(
    title="A cache is thrown away before it is full",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
    resource="a cache that never completes",
)

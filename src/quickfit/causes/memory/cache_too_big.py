"""A `cache()` keeps more in memory than there is, or many times what it was made of.

Why it is slow: `cache()` without a file name keeps every element of its dataset in memory, as it
is at that point: decoded images are ten to fifty times as large as their files. When it does not
fit, the machine swaps, or the run is killed in the middle of the first epoch. When it does fit,
it takes the memory that a larger batch, a second run or the next larger dataset would need.

How it shows: the cache is being filled while steps run; what it holds grows with the memory of the
process; and the elements still to come are larger than the memory that is left. Or the cache holds
a gigabyte or a tenth of the memory, and four times as much as its elements were made of: files that
were read, or what the dataset's source handed out.

Example:
    ds = ds.map(decode).cache().shuffle(1000).batch(32)

Use instead:
    ds = ds.cache().shuffle(1000).map(decode, num_parallel_calls=tf.data.AUTOTUNE).batch(32)

Fix class: same results, as long as what moves behind the cache gives the same every time. A cache
of the files' bytes, of `uint8` instead of `float32`, or on the disk (`cache("/fast/disk/name")`)
takes less memory.

When it is wrong: a cache that fits is what one wants, and decoding in every epoch takes time: of a
cache that fits, caching `uint8` instead of `float32` costs least. Where the number of elements is
not known, nothing is said of what does not fit before four fifths of the memory are gone.
"""

from __future__ import annotations

from quickfit import units
from quickfit.causes._cause import Cause, example, running_out
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Exhaustion, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.caching import FillingCache, HeldCache, filling_cache, held_cache
from quickfit.signals.memory import large_bytes, memory_limit

# What is still to come must be this share of the memory left, to be too much.
MIN_FREE_SHARE = 0.9
# Where nobody knows what is to come, it is told when so much of the memory is gone, and the cache
# holds so much of what the process has.
MIN_USED_SHARE, MIN_HELD_SHARE = 0.8, 0.3
# The memory of the process grows by at least this share of what the cache takes.
MIN_AGREEMENT = 0.5
# `float32` takes four times the memory of the `uint8` it was decoded to, and that is ten times a
# JPEG file. A cache of so many times what was read holds what it need not hold.
MIN_TIMES_READ = 4.0
# Less says that the elements are computed, not made of anything.
MIN_READ_BYTES = 1_000_000


def detect(signals: Signals) -> Finding | None:
    """Report a cache that will not fit."""
    if signals.loop.input in ("generator", "pydataset", "arrays", "python"):
        return None
    cache = filling_cache(signals)
    found = _will_not_fit(signals, cache) if cache is not None else None
    return found or _many_times_its_files(signals)


def _many_times_its_files(signals: Signals) -> Finding | None:
    cache = held_cache(signals)
    limit, _ = memory_limit(signals.process)
    if cache is None or cache.held_bytes < large_bytes(limit):
        return None
    made_of = cache.made_of_bytes
    if made_of < MIN_READ_BYTES or cache.held_bytes < MIN_TIMES_READ * made_of:
        return None
    held = cache.held_bytes
    used = Exhaustion("memory", "bytes", held, None, 0.0, limit, None, held=held)
    times = f"{held / made_of:,.0f} times what its elements were made of"
    summary = f"this cache holds {units.size(held)}, {times}"
    return running_out(used, summary, cache.location, *_level(cache))


def _level(cache: HeldCache) -> tuple[Evidence, ...]:
    each = cache.held_bytes / max(cache.elements, 1)
    kept = f"{cache.elements:,} elements of {each / 1e3:,.0f} kB, as tf.data counts them"
    return (
        Evidence("is in the cache", cache.held_bytes, "bytes", kept),
        Evidence("was read from files meanwhile", cache.read_bytes or 0.0, "bytes")
        if cache.read_bytes == cache.made_of_bytes
        else Evidence("came out of the dataset's source meanwhile", cache.source_bytes, "bytes"),
    )


def _will_not_fit(signals: Signals, cache: FillingCache) -> Finding | None:
    memory, grown = signals.memory, cache.growth
    if memory.limit_bytes is None or memory.used_bytes is None:
        raise SignalMissing("the size of the machine's memory")
    if grown is None or memory.rss is None:
        raise SignalMissing("a cache that was seen for some seconds")
    free = max(memory.limit_bytes - memory.used_bytes, 0)
    if grown.per_s <= 0 or memory.rss.total < MIN_AGREEMENT * grown.total:
        return None
    if not _is_too_big(signals, cache, free):
        return None
    used = Exhaustion(
        *("memory", "bytes", grown.total, grown.per_step, grown.per_s),
        memory.limit_bytes,
        free / grown.per_s,
    )
    return running_out(used, _summary(cache), cache.location, *_evidence(cache, free, signals))


def _is_too_big(signals: Signals, cache: FillingCache, free: float) -> bool:
    if cache.is_endless:
        return True
    to_come, memory = cache.to_come_bytes, signals.memory
    if to_come is not None:
        return to_come >= MIN_FREE_SHARE * free
    is_full = free <= (1 - MIN_USED_SHARE) * (memory.limit_bytes or 0)
    return is_full and cache.held_bytes >= MIN_HELD_SHARE * memory.rss_bytes


def _summary(cache: FillingCache) -> str:
    if cache.is_endless:
        return "this cache has no end: a `repeat` before it goes on for ever"
    return "this cache needs more memory than there is"


def _evidence(cache: FillingCache, free: float, signals: Signals) -> tuple[Evidence, ...]:
    of = f" of {cache.size:,}" if cache.size else ""
    kept = f"{cache.elements:,}{of} elements of {cache.element_bytes / 1e3:,.0f} kB"
    found = [Evidence("is in the cache now", cache.held_bytes, "bytes", kept)]
    if cache.to_come_bytes is not None:
        found.append(Evidence("is still to come", cache.to_come_bytes, "bytes"))
    found.append(Evidence("of memory is left", free, "bytes"))
    rss = signals.memory.rss
    if rss is not None:
        span = f"in {rss.window_s:.0f} s"
        found.append(Evidence("more memory is in use by the process", rss.total, "bytes", span))
    return tuple(found)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to cache less."""
    cache = filling_cache(signals)
    if cache is not None and cache.is_endless:
        return Fix(
            title="Cache before the repeat",
            kind=FixClass.SAME_RESULTS,
            example="ds = ds.map(decode).cache().repeat()",
        )
    return Fix(
        title="Cache before the elements become large, or on the disk",
        kind=FixClass.SHOW_ONLY,
        example=example(__doc__ or "", "Use instead"),
        note="`cache('/fast/disk/name')` keeps the elements in a file.",
    )


CAUSE = Cause(title="A cache takes too much memory", symptom=Symptom.MEMORY, detect=detect, fix=fix)

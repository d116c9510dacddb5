"""A cache is filled before the first batch comes out, or may not be filled at all.

Why it is slow: `cache()` keeps every element that goes through it in the first pass. Where
something behind it takes in all the data before it gives anything, a shuffle of everything or a
pass that you make yourself, the first step waits until the whole dataset was read, decoded and
stored. And a cache in a file is locked while it is written: a run that was killed leaves the lock
behind, and the next one ends with `AlreadyExistsError: ... cache lockfile already exists`.

How it shows: elements go into the cache, so many per second, while none comes out of the pipeline;
how many are still to come, and for how long, is told. Or the script ended by that error, and the
lock file it names is told.

Example:
    ds = tf.data.Dataset.from_tensor_slices(paths).map(decode)
    ds = ds.cache("cache/images").shuffle(len(paths)).batch(32)
    model.fit(ds, epochs=10)

Use instead:
    # shuffled before it is read: training runs beside the first filling
    ds = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths)).map(decode)
    ds = ds.cache("cache/images").shuffle(1000).batch(32)
    model.fit(ds, epochs=10)

Fix class: shown only. The filling is done once and later epochs gain from it. Build the cache ahead
(`for _ in ds: pass`) where many runs read it. Delete a `.lockfile` only if no other run uses that
cache: two runs that write one cache destroy it.

When it is wrong: a cache from which batches come while it is filled keeps nobody waiting, and is
not told of. One that ends before its first step has done its work: it is slow to start, not stuck.
"""

from __future__ import annotations

from quickfit import units
from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.liveness import phases
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Scene
from quickfit.signals import Signals
from quickfit.signals.endings import CacheLock, cache_lock


def detect(signals: Signals) -> Finding | None:
    """Report a lock file that ended the run, or what was seen while it was quiet."""
    lock = cache_lock(signals)
    return _locked(lock) if lock is not None else silence_finding(signals, "cache-fill")


def _locked(lock: CacheLock) -> Finding:
    return Finding(
        summary="the cache is locked by another run, or by one that was killed while it wrote it",
        where=lock.where,
        evidence=(
            Evidence("lock file that was there already", 1, "count", f"`{lock.file}`"),
            Evidence("runs ended by AlreadyExistsError", 1, "count", "this one"),
        ),
        gain=Gain(1.0, 1.0, 1.0, ""),
        cost_share=0.0,
        is_of_whole=True,
    )


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Name the lock file to delete, or show how to train beside the filling."""
    lock = cache_lock(signals)
    if lock is None:
        return advice(__doc__ or "", "Shuffle before the cache, or build the cache ahead")
    return Fix(
        title=f"Delete `{lock.file}` if no other run uses this cache",
        kind=FixClass.SHOW_ONLY,
        note="What was written so far is of no use: the cache is filled from the start.",
    )


def show_cache_fill(scene: Scene) -> Reason | None:
    """Tell of a cache that has to be filled before the first batch comes out."""
    now = phases.phase(scene)
    stage = phases.caching_stage(scene)
    if now.name != "cache-fill" or stage is None:
        return None
    left = f", {units.seconds(now.left_s)} more" if now.left_s is not None else ""
    total = f" of {now.total:,}" if now.total else ""
    return Reason(
        cause="cache-fill",
        summary=f"the cache is being filled for the first time: {stage.elements:,}{total}"
        f" elements{left}",
        where=stage.location,
        evidence=(
            Evidence("elements in the cache", stage.elements, "count"),
            Evidence("more every second", stage.per_s, "per_s"),
        ),
        advice="Later epochs read from it. Build it ahead, or let training run beside it: no"
        " `shuffle` of everything and no pass over the data before the first step.",
        moves=True,
    )


CAUSE = Cause(
    title="A cache is filled before the first step",
    symptom=Symptom.STUCK,
    detect=detect,
    fix=fix,
    live=(Mechanism(show_cache_fill, Proof.FILLING),),
)

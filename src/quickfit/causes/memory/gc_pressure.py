"""Python's garbage collector takes a large share of the time.

Why it is slow: the collector looks at every object that can refer to others: lists, dictionaries,
objects of classes. With millions of them alive, one full collection takes half a second, during
which no Python runs, and a script that makes many new ones has it done often. A `gc.collect()` in
every step does the same on purpose.

How it shows: a tenth of the time or more lies inside the collector, as timed on short looks at it;
there were full collections all along, and many objects are alive.

Example:
    samples = [{"id": i, "tokens": list(range(64))} for i in range(2_000_000)]
    model.fit(batches(samples))

Use instead:
    samples = [{"id": i, "tokens": list(range(64))} for i in range(2_000_000)]
    gc.collect()
    gc.freeze()
    model.fit(batches(samples))

Fix class: same results. `gc.freeze()` leaves what is alive now out of all later collections;
arrays (`np.array`) instead of lists leave the collector nothing to look at. Take `gc.collect()`
out of the loop, or call it once per epoch.

When it is wrong: on a busy machine the collector takes longer, as all else does; its share stays.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example
from quickfit.errors import SignalMissing
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.signals import Signals
from quickfit.signals.collecting import Collecting, collecting

# Below a tenth of the time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# A share from one full collection, or two, is chance.
MIN_COLLECTIONS = 3
# How much of the time goes: some objects are left to look at, at best none.
REMOVED = (0.5, 0.85, 1.0)


def detect(signals: Signals) -> Finding | None:
    """Report a collector that takes a share of the time."""
    found = collecting(signals)
    if found is None:
        raise SignalMissing("a timed look at Python's collector")
    if found.share < MIN_SHARE or found.full < MIN_COLLECTIONS:
        return None
    low, likely, high = (1 / max(1 - part * found.share, 0.05) for part in REMOVED)
    basis = "the collector has little left to look at"
    return Finding(
        summary=_summary(found),
        where=found.called_at or found.made_at,
        evidence=_evidence(found),
        gain=Gain(low, likely, high, basis),
        cost_share=found.share,
        claims=_claims(signals, found),
        is_of_whole=True,
    )


def _claims(signals: Signals, found: Collecting) -> tuple[str, ...]:
    """Return the part of the time that a call lies in; Python collects wherever it is."""
    if found.called_at is None:
        return ()
    return ("callbacks",) if signals.loop.kind == "fit" else ("between", "looks")


def _summary(found: Collecting) -> str:
    if found.called_at is not None:
        return "the collector is called here again and again"
    if found.made_at is not None:
        return "objects are made here, and Python's garbage collector looks at all there are"
    return "Python's garbage collector takes a share of the training"


def _evidence(found: Collecting) -> tuple[Evidence, ...]:
    each = f"{found.seconds / max(found.full, 1):.2f} s for each at most"
    facts = [
        Evidence("of the time is inside the collector", found.share, "share", "timed"),
        Evidence("full collections", found.full, "count", f"in {found.window_s:.0f} s, {each}"),
    ]
    if found.objects is not None:
        facts.append(Evidence("objects it looks at each time", found.objects, "count"))
    if found.samples_share is not None:
        said = "of the main thread's samples are at this line"
        facts.append(Evidence(said, found.samples_share, "share"))
    return tuple(facts)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to leave objects out of collections."""
    found = collecting(signals)
    if found is not None and found.called_at is not None:
        title = "Collect once per epoch, or not at all"
        return Fix(title, FixClass.SAME_RESULTS, note="Python collects by itself.")
    return Fix(
        title="Freeze what is made before training, or keep it in arrays",
        kind=FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
    )


CAUSE = Cause(
    title="The garbage collector takes much of the time",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
)

"""The input pipeline is built anew for every epoch.

Why it is slow: building a pipeline traces the functions of its maps, copies arrays into the
graph and forgets every cache. Once is enough: a dataset can be read as often as one likes, and
`shuffle` gives another order each time.

How it shows: the pipelines of the epochs are different ones made by the same lines with the same
contents, their functions are traced again in every epoch, and the main thread is seen at these
lines for a visible part of the training.

Example:
    for epoch in range(20):
        ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).map(augment).batch(32)
        for batch in ds:
            train_step(batch)

Use instead:
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).map(augment).batch(32)
    for epoch in range(20):
        for batch in ds:
            train_step(batch)

Fix class: may change results. The same elements come, in another random order: a shuffle that is
read again goes on with its random numbers instead of beginning anew.

When it is wrong: pipelines of other data, other lengths or other batch sizes are not the same
pipeline, although the same lines build them. Where building takes next to no time, nothing is
reported.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example
from quickfit.causes._shared.own_example import with_own_sizes
from quickfit.causes.input.dataset_rebuilt_per_epoch.edit import built_once
from quickfit.causes.input.dataset_rebuilt_per_epoch.run import Rebuilt, between_epochs_s, rebuilt
from quickfit.code import Program
from quickfit.errors import SignalMissing
from quickfit.findings import Change, Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.signals import Signals
from quickfit.signals.dataset_chains import below, is_steady, stages_of, written
from quickfit.signals.gains import is_at_least, share_interval

# Below this share of the training the gain is smaller than the noise between runs.
MIN_SHARE = 0.05
# Copies that were seen: two may be a training and a second one, with reason.
MIN_COPIES = 3
# How often a second samples come, at least: what they say of a short training is not sure.
SAMPLES_PER_S = 20
# Of what a lost cache would have saved, this part comes back: reading it has its price.
CACHE_REGAINED = (0.3, 0.7, 1.0)


def detect(signals: Signals) -> Finding | None:
    """Report a pipeline that every epoch builds for itself."""
    if signals.loop.input in ("generator", "pydataset", "arrays", "python"):
        return None
    if not signals.process.rows("iterators"):
        raise SignalMissing("tf.data's model of the pipeline")
    found = rebuilt(signals)
    if found is None or max(found.copies, found.traces) < MIN_COPIES or not found.span_s:
        return None
    built_s = max(found.built_s, found.traced_s)
    lost = _lost_share(found, signals)
    share = min(built_s / found.span_s, 1.0)
    sure = share_interval(share, round(SAMPLES_PER_S * found.span_s))
    # By samples; what the clock says of tracing is certain.
    low, high = (max(end, min(found.traced_s / found.span_s, 1.0)) + lost for end in sure)
    what = "samples of the main thread, for what builds the pipeline"
    if not is_at_least(MIN_SHARE, share + lost, (low, high), what):
        return None
    gained = _gain(found, share, lost, signals)
    evidence = [
        Evidence(
            "of the training goes into building the pipeline",
            share,
            "share",
            f"{built_s:.1f} of {found.span_s:.1f} s, by samples of the main thread",
        ),
        Evidence(
            "copies of this pipeline at least, from the same lines",
            found.copies,
            "count",
            f"{found.epochs} epochs",
        ),
    ]
    if found.traces:
        evidence.append(
            Evidence(
                "to trace its functions again",
                found.traced_s,
                "s",
                f"{found.traces} times after the first",
            )
        )
    if lost:
        evidence.append(
            Evidence("of the step time waits for what a lost cache had held", lost, "share")
        )
    claims = ("epoch_ends", "fit_calls") + (("input_wait",) if lost else ())
    return Finding(
        summary="the input pipeline is built anew for every epoch",
        where=found.location,
        evidence=tuple(evidence),
        gain=gained,
        cost_share=min(share + lost, 1.0),
        claims=claims,
        is_of_whole=True,
        not_found=("other contents in the pipelines of other epochs",),
    )


def _lost_share(found: Rebuilt, signals: Signals) -> float:
    """Return the share of the time that waits for work which a kept cache would save."""
    if not found.has_cache:
        return 0.0
    top, known = written(signals)
    chain = below(top, known) if top is not None else {}
    cache = next((op for op in chain.values() if op.kind == "cache"), None)
    if cache is None:
        return 0.0
    saved = stages_of(signals.stages, below(cache, known), without={cache.id: cache})
    total_s = sum(stage.work_s for stage in signals.stages)
    part = sum(stage.work_s for stage in saved) / total_s if total_s else 0.0
    return signals.wait.share * part * signals.whole_time.steps_share


def _gain(found: Rebuilt, share: float, lost: float, signals: Signals) -> Gain:
    """Return the gain: at least the tracing goes, at most all between the epochs."""
    traced = found.traced_s / found.span_s
    between = between_epochs_s(signals) * max(found.epochs - 1, 0) / found.span_s
    saved = (max(traced, 0.6 * share), share, max(share, min(between, 2 * share)))
    factors = [
        1 / max(1 - min(built, 0.9) - part * lost, 0.1)
        for built, part in zip(saved, CACHE_REGAINED, strict=True)
    ]
    basis = "the pipeline is built once" + (", and its cache is kept" if lost else "")
    return Gain(factors[0], factors[1], factors[2], basis)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show where the pipeline belongs."""
    shown = Fix(
        title="Build the pipeline once, before the loop over the epochs",
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note="Each epoch still gets a new random order; it is another one than before.",
    )
    return with_own_sizes(shown, signals)


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Move what builds the pipeline out of the loop."""
    where, (top, _) = finding.where, written(signals)
    modules = program.modules()
    if where is None:
        return []
    is_random = top is None or not is_steady(signals, top)
    change = built_once(modules, file=where.file, line=where.line, is_random=is_random)
    return [change] if change is not None else []


CAUSE = Cause(
    title="The pipeline is built anew for every epoch",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
    resource="a pipeline that is built again",
)

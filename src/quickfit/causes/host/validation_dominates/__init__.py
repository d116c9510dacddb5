"""Validation takes a third of the time or more.

Why it is slow: `fit` validates after every epoch, and a script that trains by itself calls
`evaluate`, or has a loop for it, as often as it says. Where the validation data is large against
the training data, comes from a slow pipeline or in small batches, most of the time is spent
looking at the model instead of training it.

How it shows: the time inside validation, its first run left out because that compiles, is three
tenths of the training or more, and the samples of the main thread agree.

Example:
    model.fit(train, epochs=100, validation_data=(val_x, val_y))

Use instead:
    model.fit(train, epochs=100, validation_data=(val_x, val_y), validation_freq=5)

Fix class: same results. The weights come out the same, with fewer points on the validation curve.
Where a callback decides by it (`EarlyStopping`, `ReduceLROnPlateau`, `ModelCheckpoint` of the
best), it may decide otherwise, and the change is marked so.

When it is wrong: a training that is cheap beside a large, fixed test (a few new examples for a
model that must not forget) needs its validation. `predict` for a few rows at a time is reported
by `predict-in-loop`. Larger validation batches, `cache()` and
`prefetch()` of the validation data, or fewer `validation_steps`, make the same look cheaper.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example
from quickfit.causes.host.validation_dominates.edit import (
    seldom_look,
    seldom_loop,
    seldom_validation,
)
from quickfit.code.batch_size import larger_validation_batch
from quickfit.code.program import Program
from quickfit.findings import Change, Evidence, Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals
from quickfit.signals.around_steps import Validation, validation
from quickfit.signals.gains import gain, speaks_against

# A validation set of a third of the data costs about a tenth of the time; this is far beyond.
MIN_SHARE = 0.30
# The first one compiles, and says nothing about what the next will take.
MIN_TIMES = 2
# Samples must not say otherwise: less than half of what the clock says.
MIN_AGREEMENT = 0.5
# What is left of it when it is done half as often, a fifth and a tenth as often.
SELDOM = 5
LEFT_OVER = (0.5, 1 / SELDOM, 0.1)
# They decide by what validation says.
DECIDERS = ("EarlyStopping", "ReduceLROnPlateau", "ModelCheckpoint")
CHEAPER = "Larger validation batches or fewer `validation_steps` make each validation cheaper."

LOOK = "model.evaluate(val_x, val_y)"
LOOKING = "for x, y in val:\n        test_step(x, y)"


def detect(signals: Signals) -> Finding | None:
    """Report validation that takes a large part of the training."""
    if not signals.loop.trains:
        return None
    seen = validation(signals)
    if seen is None or seen.times < MIN_TIMES or seen.share < MIN_SHARE:
        return None
    if speaks_against(seen.sampled_share, seen.samples, seen.share, MIN_AGREEMENT):
        return None
    after = [1 - seen.share * (1 - left) for left in LEFT_OVER]
    return Finding(
        summary="validation takes longer than it is worth"
        if seen.each_s < seen.training_s
        else "validating takes longer than training",
        where=seen.location or signals.loop.location,
        evidence=_evidence(seen),
        gain=gain(1.0, (after[0], after[1], after[2]), "validating a fifth as often"),
        cost_share=seen.share,
        claims=_claims(seen, signals),
        is_of_whole=True,
    )


def _claims(seen: Validation, signals: Signals) -> tuple[str, ...]:
    """Return the parts it lies in: a callback of `fit` validates inside its hooks."""
    if seen.way != "calls":
        return ("validation",)
    if signals.loop.kind == "fit" and not signals.loop.outside_s:
        return ("validation", "looks", "callbacks", "epoch_callbacks")
    return ("validation", "looks")


def _evidence(seen: Validation) -> tuple[Evidence, ...]:
    found = [
        Evidence(
            "for each validation",
            seen.each_s,
            "s",
            f"seen {seen.times} times, the first one left out",
        ),
        Evidence("of training between two validations", seen.training_s, "s"),
    ]
    if seen.sampled_share:
        found.append(
            Evidence(
                "of the main thread's samples are in validation",
                seen.sampled_share,
                "share",
                f"{seen.samples} samples",
            )
        )
    return tuple(found)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Give `validation_freq` to the call of `fit`, or show how to look less often by hand."""
    seen = validation(signals)
    if seen is not None and seen.way != "epochs":
        return _by_hand(seen, signals)
    deciding = [c.name for c in signals.epoch_callbacks if c.name in DECIDERS]
    return Fix(
        title="Validate a fifth as often",
        kind=FixClass.MAY_CHANGE_RESULTS if deciding else FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note=" ".join(
            [CHEAPER, *(f"`{name}` may then decide otherwise." for name in deciding[:1])]
        ),
    )


def _by_hand(seen: Validation, signals: Signals) -> Fix:
    whole = signals.whole_time
    steps = round(SELDOM * len(signals.steps.steps) / seen.times, -1)
    is_in_steps = whole.looks_in_steps_s > whole.validation_s
    when = f"step % {max(steps, 10):.0f}" if is_in_steps else f"epoch % {SELDOM}"
    return Fix(
        title="Validate a fifth as often",
        kind=FixClass.SAME_RESULTS,
        example=f"if {when} == 0:\n    {LOOK if seen.way == 'calls' else LOOKING}",
        note=f"{CHEAPER} What the script decides by it, it then decides less often.",
    )


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Give `validation_freq` to `fit`, or look at the model on fewer turns of a loop."""
    seen, where = validation(signals), finding.where
    module = program.find_module(where.file) if where is not None else None
    if seen is None or where is None or module is None:
        return []
    if seen.way == "epochs":
        epochs = signals.loop.facts.get("epochs")
        change = seldom_validation(module, where.line, program, epochs)
    elif seen.way == "calls":
        change = seldom_look(module, where.line, program)
    else:
        change = seldom_loop(module, where.line)
    larger = larger_validation_batch(module, where.line, program)
    return [found for found in (larger, change) if found is not None]


CAUSE = Cause(
    title="Validation takes much of the time",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
)

"""There is nothing to train on: the data has no element, or everything is left out.

Why it is slow: a folder that is empty, a pattern that matches nothing, a filter that compares a
number with a text, a batch larger than the data with `drop_remainder=True`. A generator with
`while True` then goes round for ever without giving anything, a filter over endless data drops one
element after the other, and a `fit` over a dataset that ends at once is done in no time, with
a loss of 0 and no error.

How it shows: only the line of a loop itself is ever seen while its thread uses a core; or elements
go into a filter and none comes out; or tf.data itself counts no element; or whole epochs went by
without a step; or Keras refused a generator that ended before its first batch. Where it can be
told, the line is the one at which nothing was left.

Example:
    import glob

    def batches():
        while True:
            for path in glob.glob("photographs/*.jpeg"):  # they are called .jpg
                yield load_batch(path)

    model.fit(batches(), steps_per_epoch=100)

Use instead:
    import glob

    paths = glob.glob("photographs/*.jpg")
    if not paths:
        raise FileNotFoundError("no photographs/*.jpg")

    def batches():
        while True:
            for path in paths:
                yield load_batch(path)

    model.fit(batches(), steps_per_epoch=100)

Fix class: shown only. What was meant to be there only you know; an error at the place where the
list is made costs one line and saves the next hour.

When it is wrong: a filter may be meant to drop nearly everything. It is named after five thousand
elements of which none came through, or some hundred in half a minute, and one element that comes
out takes it back. A loop with any line in its body that runs is not called empty, nor one that
waits for what it loops over, such as a large file that is read in parts.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Evidence, Finding, Fix, Gain, Symptom
from quickfit.signals import Signals
from quickfit.signals.endings import Emptiness, emptiness


def detect(signals: Signals) -> Finding | None:
    """Report data without an element, or what was seen while the run was quiet."""
    found = emptiness(signals)
    return _empty(found) if found is not None else silence_finding(signals, "empty-input")


def _empty(found: Emptiness) -> Finding:
    return Finding(
        summary=f"nothing to train on: {found.what}",
        where=found.where,
        evidence=(
            Evidence("elements", found.counted, "count", found.how),
            Evidence("training steps of the run", found.steps, "count"),
        ),
        gain=Gain(1.0, 1.0, 1.0, ""),
        cost_share=0.0,
        is_of_whole=True,
        # Another part of the script did train.
        is_past=found.steps > 0,
    )


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to notice that there is nothing."""
    return advice(__doc__ or "", "Raise an error where the list of the data is made")


CAUSE = Cause(
    title="There is no data",
    symptom=Symptom.STUCK,
    detect=detect,
    fix=fix,
)

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

import re

from quickfit.causes._cause import Cause, silence_finding
from quickfit.code.lines import (
    is_loop_header,
    loop_inside,
)
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.liveness.phases import making_thread
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Scene
from quickfit.signals import Signals
from quickfit.signals.endings import Emptiness, emptiness

# A loop over nothing takes all it gets of a core; others may take the rest.
BUSY_CORES = 0.2
# An empty loop is seen at its header alone; so many looks make that no accident.
MIN_LOOKS = 20
# What lists files, and may take its time even if it finds none.
_LISTS = re.compile(r"\b(i?glob|rglob|listdir|scandir|iterdir|walk)\s*\(")
# A filter that drops so many and passes none drops them all, as far as anybody can wait.
MIN_DROPPED = 200
MANY_DROPPED, LONG_S = 5000, 30.0


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


def show_empty_loop(scene: Scene) -> Reason | None:
    """Tell of an endless loop over nothing: only its own line is ever seen."""
    thread = making_thread(scene)
    if thread is None or thread.user_frame is None or not thread.lines:
        return None
    seen = sum(count for _, _, count in thread.lines)
    texts = {file: scene.sources.get(file, "") for file, _, _ in thread.lines}
    if seen < MIN_LOOKS or (thread.cores is not None and thread.cores < BUSY_CORES):
        return None
    if not all(is_loop_header(texts[file], line) for file, line, _ in thread.lines):
        return None
    file, last, _ = max(thread.lines, key=lambda line: line[1])
    # Python looks up where a loop goes round: at the outer one, if the inner one never does.
    inner = loop_inside(texts[file], last)
    where = scene.at(file, inner or last)
    # What is looped over may itself take long to give its next item, in C or in a library.
    if not thread.frames[0].is_user and not _LISTS.search(where.text if where else ""):
        return None
    return Reason(
        cause="empty-input",
        summary="the input's loop goes round and never gives anything: there is nothing in it",
        where=where,
        evidence=(
            Evidence("looks at which only the loop's own line ran", seen, "count"),
            Evidence("since the last batch", scene.still_s, "s", "none was given meanwhile"),
        ),
        advice="Check what is looped over (a folder or pattern that matches nothing?) and raise"
        " if it is empty.",
        is_certain=scene.still_s > 5.0 and (inner is not None or len(thread.lines) > 1),
    )


def show_all_filtered(scene: Scene) -> Reason | None:
    """Tell of a filter that lets nothing through."""
    for place, stage in enumerate(scene.stages[:-1]):
        taken = scene.stages[place + 1]
        is_dropping = stage.kind == "filter" and not stage.elements
        if not is_dropping or taken.elements < MIN_DROPPED:
            continue
        return Reason(
            cause="empty-input",
            summary=f"`filter` has let none of {taken.elements:,} elements through",
            where=stage.location,
            evidence=(
                Evidence("elements that went into the filter", taken.elements, "count"),
                Evidence("elements that came out", stage.elements, "count"),
            ),
            advice="Look at what the filter compares: a label's type, a range, a path.",
            is_certain=taken.elements >= MANY_DROPPED or scene.quiet_s >= LONG_S,
        )
    return None


CAUSE = Cause(
    title="There is no data",
    symptom=Symptom.STUCK,
    detect=detect,
    advice=Fix("Raise an error where the list of the data is made", FixClass.SHOW_ONLY),
    live=(
        Mechanism(show_empty_loop, Proof.COUNTED),
        Mechanism(show_all_filtered, Proof.COUNTED),
    ),
)

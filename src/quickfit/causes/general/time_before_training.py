"""The script prepares for long before it trains.

Why it is slow: nothing is trained while data is listed, read or converted in Python, on one
core, before `fit` is called; and it is done again in every run.

How it shows: a tenth of the run or more, and two seconds at least, is spent before training,
outside imports, the model and tracing. The samples of the main thread name the line.

Example:
    images = np.array([np.array(Image.open(path).resize((64, 64))) for path in paths])
    model.fit(images, labels)

Use instead:
    ds = keras.utils.image_dataset_from_directory("photos", image_size=(64, 64), batch_size=32)
    model.fit(ds.cache().prefetch(tf.data.AUTOTUNE))

Fix class: show only. Prepare the data once and save it (`np.save`, a pack of records), or let
tf.data read it in parallel while the model trains.

When it is wrong: data that is read once and then used for hours of training is in proportion; a run
that was cut short shows more of it than the whole training would.
"""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict

from quickfit.account.around_nodes import activity_of
from quickfit.causes._cause import Cause, advice
from quickfit.causes._shared.large_node import finding_around_training
from quickfit.findings import Finding, Fix, Symptom
from quickfit.signals import Signals
from quickfit.signals.stacks import Frame

# What every script does, once.
NORMAL = ("imports", "model", "tracing", "evaluating", "predicting", "calling", "iterator_ends")
# A statement with less of the time is one of several, and saving its result is not enough.
MIN_STATEMENT_SHARE = 0.7
_ASSIGNED_CALL = re.compile(r"(?P<names>\w+(, *\w+)*) *= *(?P<call>[\w.]+\(.*\))$")


def detect(signals: Signals) -> Finding | None:
    """Report the line before training that takes most."""
    return finding_around_training(
        signals, "before_training", NORMAL, "the script is busy for long before it trains"
    )


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say what to try, in the script's own names where one statement has most of the time."""
    found = advice(
        __doc__ or "",
        "Prepare once and save the result, or let tf.data read while the model trains",
    )
    statement = _ASSIGNED_CALL.match(_largest_statement(signals))
    if statement is None:
        return found
    names, call = statement["names"], statement["call"]
    return dataclasses.replace(
        found,
        example=f"""\
# The first run writes the file, later runs read it. Delete it when the data changes.
if os.path.exists("prepared.npz"):
    {names}{"" if "," in names else ","} = np.load("prepared.npz").values()
else:
    {names} = {call}
    np.savez("prepared.npz", {names})""",
    )


def _largest_statement(signals: Signals) -> str:
    """Return the outermost assignment from a call that most of the preparation is inside of."""
    begin_s, end_s = signals.recorded_process.facts.get("started_s"), signals.loop.entered_s
    if not isinstance(begin_s, int | float):
        return ""
    stacks = signals.stack_clock.between(begin_s, end_s, wanted=lambda _, loop: loop is None)
    prepared = [s for s in stacks if activity_of(s.frames, signals)[0] not in NORMAL]
    total_s = sum(stack.seconds for stack in prepared)
    seconds: dict[tuple[int, Frame], float] = defaultdict(float)
    for stack in prepared:
        own = [frame for frame in reversed(stack.frames) if frame.is_user]
        for depth, frame in enumerate(own):
            seconds[depth, frame] += stack.seconds
    for depth, frame in sorted(seconds, key=lambda key: key[0]):
        where = signals.location(frame.file, frame.line)
        text = where.text.strip() if where is not None else ""
        if seconds[depth, frame] >= MIN_STATEMENT_SHARE * total_s and _ASSIGNED_CALL.match(text):
            return text
    return ""


CAUSE = Cause(
    title="The script prepares for long before it trains",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    is_general=True,
)

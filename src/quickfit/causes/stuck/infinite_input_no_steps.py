"""The data is endless and nobody says after how many batches an epoch, or a validation, is over.

Why it is slow: `.repeat()` without a number and a generator with `while True` never run out.
Without `steps_per_epoch` the first epoch never ends: the bar counts on without a total, and no
checkpoint, validation or learning-rate schedule ever comes. Without `validation_steps` it is the
validation that never ends: the bar stands at the last step of the epoch and looks frozen.

How it shows: the dataset tells itself that it is endless, or all that the generator does is in a
`while True` that nothing leaves; `fit` was given no number of steps; and the epoch, or the
validation, has lasted for a quarter of a minute.

Example:
    train = train.shuffle(1000).repeat().batch(32)
    test = test.repeat().batch(32)
    model.fit(train, validation_data=test, epochs=10)

Use instead:
    train = train.shuffle(1000).batch(32)  # fit starts it anew for every epoch
    test = test.batch(32)
    model.fit(train, validation_data=test, epochs=10)

Fix class: shown only. Taking `.repeat()` away gives epochs of the whole data. For a generator give
`steps_per_epoch=len(paths) // batch_size`, and make sure that it is not 0: `validation_steps=0` is
taken as not given.

When it is wrong: a training may be meant to have one endless epoch that a callback ends. Where the
text of the script sets `stop_training`, nothing is said.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Finding, Fix, Symptom
from quickfit.signals import Signals


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "infinite-input-no-steps")


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to let an epoch end."""
    return advice(__doc__ or "", "Say how many batches an epoch, or a validation, has")


CAUSE = Cause(
    title="An epoch or a validation never ends",
    symptom=Symptom.STUCK,
    detect=detect,
    fix=fix,
)

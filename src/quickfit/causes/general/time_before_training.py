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

from quickfit.causes._cause import Cause, advice
from quickfit.causes._shared.large_node import finding_around_training
from quickfit.findings import Finding, Fix, Symptom
from quickfit.signals import Signals

# What every script does, once.
NORMAL = ("imports", "model", "tracing", "evaluating", "predicting", "calling", "iterator_ends")


def detect(signals: Signals) -> Finding | None:
    """Report the line before training that takes most."""
    return finding_around_training(
        signals, "before_training", NORMAL, "the script is busy for long before it trains"
    )


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Say what to try."""
    return advice(
        __doc__ or "",
        "Prepare once and save the result, or let tf.data read while the model trains",
    )


CAUSE = Cause(
    title="The script prepares for long before it trains",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    is_general=True,
)

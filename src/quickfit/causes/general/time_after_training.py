"""The script works for long after it has trained.

Why it is slow: the run is not over when its training is: reports, plots, predictions for single
rows and exports are done one after the other, in Python.

How it shows: a tenth of the run or more, and two seconds at least, is spent after training, outside
imports, the model and tracing. The samples of the main thread name the line.

Example:
    model.fit(x, y)
    rows = [model.predict(row[None], verbose=0)[0] for row in test_rows]

Use instead:
    model.fit(x, y)
    rows = model.predict(test_rows, batch_size=256, verbose=0)

Fix class: show only. Work on whole arrays, in large batches, or in a script of its own.

When it is wrong: an evaluation that the run is there for is not overhead.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause
from quickfit.causes._shared.large_node import finding_around_training
from quickfit.findings import Finding, Fix, FixClass, Symptom
from quickfit.signals import Signals

# What a script may well end with, and what `time-in-saving` tells.
NORMAL = ("imports", "model", "tracing", "evaluating", "calling", "iterator_ends", "saving")


def detect(signals: Signals) -> Finding | None:
    """Report the line after training that takes most."""
    return finding_around_training(
        signals, "after_training", NORMAL, "the script works for long after its training"
    )


CAUSE = Cause(
    title="The script works for long after it has trained",
    symptom=Symptom.SLOW,
    detect=detect,
    advice=Fix(
        "Work on whole arrays and large batches, or in a script of its own", FixClass.SHOW_ONLY
    ),
    is_general=True,
)

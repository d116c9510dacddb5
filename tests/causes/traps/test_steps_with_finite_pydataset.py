"""`steps-with-finite-pydataset`: fires when epochs before the last one were cut short."""

import pytest

from quickfit.causes.traps.steps_with_finite_pydataset import CAUSE, detect, fix
from quickfit.findings import FixClass, Symptom
from quickfit.signals import Signals

from builders import FIT_LINE, SCRIPT, recording

SOURCE = "\n" * (FIT_LINE - 1) + "model.fit(data, steps_per_epoch={steps}, epochs=20)\n"


def epochs_of(lengths, **facts):
    """Return a run with epochs of so many steps."""
    made = recording(steps=sum(lengths), epochs=1)
    tables = made.main.tables
    loop = tables["loops"][0]
    loop["facts"] |= {"input": "pydataset", **facts}
    loop["end_s"] = tables["steps"][-1]["end_s"]
    numbers = [epoch for epoch, steps in enumerate(lengths, start=1) for _ in range(steps)]
    for row, epoch in zip(tables["steps"], numbers, strict=True):
        row["epoch"] = epoch
    times = {"begin_s": 1000.0, "end_s": 1001.0, "validation_s": 0.0}
    tables["epochs"] = [
        {"loop": 1, "epoch": epoch, **times} for epoch in range(1, len(lengths) + 1)
    ]
    text = SOURCE.format(steps=facts.get("steps_per_epoch", 7))
    tables["sources"] = [{"file": SCRIPT, "sha256": "", "text": text}]
    return Signals(made)


def test_fires_at_the_fit_with_the_lengths_of_its_epochs():
    finding = detect(epochs_of([70, 30, 70, 30], steps_per_epoch=70, data_batches=100))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == FIT_LINE
    assert finding.summary == "`steps_per_epoch` is 70, but the data has 100 batches"
    assert [one.value for one in finding.evidence] == [1, pytest.approx(80 / 280), 100]
    assert finding.evidence[0].detail == "of 4; steps per epoch: 70, 30, 70, 30"
    assert finding.gain.likely == 1.0
    assert CAUSE.symptom == Symptom.WRONG


def test_fires_for_a_generator_that_ended():
    finding = detect(epochs_of([60, 2, 0, 2, 0, 2], input="generator", steps_per_epoch=60))
    assert finding is not None
    assert finding.summary == "the input ended: some epochs ran no step at all"
    assert finding.evidence[0].value == 4


def test_fires_for_a_dataset_that_is_too_short():
    lengths = [50, 10, 50, 10, 50]
    finding = detect(epochs_of(lengths, input="tf.data", steps_per_epoch=50, data_batches=60))
    assert finding is not None


@pytest.mark.parametrize(
    ("lengths", "facts"),
    [
        pytest.param([50, 50, 50], {"data_batches": 50}, id="whole epochs"),
        pytest.param([50, 50, 50], {"steps_per_epoch": 50}, id="a source that goes on"),
        pytest.param([50, 50, 20], {"steps_per_epoch": 50}, id="stopped in the last epoch"),
        pytest.param([50, 49, 50, 49], {"steps_per_epoch": 50}, id="one too many by rounding"),
        pytest.param(
            [50, 40, 45, 50], {"input": "tf.data"}, id="a dataset of another length each time"
        ),
        pytest.param([90], {"steps_per_epoch": 100}, id="one epoch that was ended"),
    ],
)
def test_stays_silent_when(lengths, facts):
    assert detect(epochs_of(lengths, **facts)) is None


def test_stays_silent_in_a_loop_of_the_scripts_own():
    signals = epochs_of([70, 30, 70, 30], steps_per_epoch=70)
    signals.recording.main.tables["loops"][0]["kind"] = "custom"
    assert detect(signals) is None


def test_the_fix_takes_the_argument_away():
    signals = epochs_of([70, 30, 70, 30], steps_per_epoch=70, data_batches=100)
    shown = fix(detect(signals), signals)
    assert shown is not None
    assert shown.kind == FixClass.REPAIRS
    assert shown.before == "model.fit(data, steps_per_epoch=70, epochs=20)"
    assert shown.after == "model.fit(data, epochs=20)"


def test_the_fix_of_a_generator_is_one_that_goes_on():
    signals = epochs_of([60, 2, 0, 2, 0, 2], input="generator", steps_per_epoch=60)
    shown = fix(detect(signals), signals)
    assert shown is not None
    assert shown.before == ""
    assert shown.example.splitlines()[1].strip() == "while True:"

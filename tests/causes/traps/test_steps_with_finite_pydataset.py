"""`steps-with-finite-pydataset`: fires when epochs before the last one were cut short."""

import pytest

from quickfit.causes.traps.steps_with_finite_pydataset import CAUSE, detect, fix
from quickfit.causes.traps.steps_with_finite_pydataset.epochs import EpochLengths, epoch_lengths
from quickfit.findings import FixClass, Symptom
from quickfit.signals import Signals

from builders import FIT_LINE, SCRIPT, recording, shown_fix
from programs import fixed, lines, spots

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
    shown = shown_fix("steps-with-finite-pydataset", detect(signals), signals)
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


TEXT = """
import math
import keras
import numpy as np
import tensorflow as tf

class Batches(keras.utils.PyDataset):
    def __init__(self, x, size=8):
        super().__init__()
        self.x = x
        self.size = size
    def __len__(self):
        return math.ceil(len(self.x) / self.size)
    def __getitem__(self, at):
        return self.x[at * self.size:(at + 1) * self.size]

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
x = np.zeros((100, 4))
y = np.random.rand(100)
read = np.load("x.npy")
ds = tf.data.Dataset.from_tensor_slices((x, y))
"""


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            "model.fit(Batches(x), steps_per_epoch=9, epochs=4)",
            "13 batches: the epochs run 9, 4, 9, 4",
        ),
        (
            "model.fit(Batches(x, 32), steps_per_epoch=len(x) // 32, epochs=4)",
            "run 3, 1, 3, 1 steps",
        ),
        ("model.fit(Batches(x, 10), steps_per_epoch=20, epochs=4)", "run 10, 10, 10, 10 steps"),
        ("model.fit(x, y, batch_size=32, steps_per_epoch=3, epochs=4)", "run 3, 1, 3, 1 steps"),
        ("model.fit(ds.batch(32), steps_per_epoch=100 // 32, epochs=4)", "run 3, 1, 3, 1 steps"),
        (
            "model.fit(ds.batch(32, drop_remainder=True), steps_per_epoch=2, epochs=4)",
            "run 2, 1, 2, 1 steps",
        ),
    ],
)
def test_reports_short_epochs_from_text(code, told):
    (spot,) = spots(CAUSE, TEXT + code)
    assert told in spot.summary
    assert not spot.is_hint
    after = code[: code.index("steps_per")] + code[code.index("epochs=") :]
    assert fixed(CAUSE, TEXT + code) == TEXT.lstrip("\n") + after


def test_a_last_batch_that_may_be_left_is_a_hint():
    code = "model.fit(Batches(read, 32), steps_per_epoch=len(read) // 32, epochs=4)"
    assert "every second epoch" in spots(CAUSE, TEXT + code)[0].summary
    assert [spot.is_hint for spot in spots(CAUSE, TEXT + code)] == [True]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("model.fit(Batches(x), epochs=4)", id="no number"),
        pytest.param("model.fit(Batches(x), steps_per_epoch=7)", id="one epoch"),
        pytest.param("model.fit(Batches(x), steps_per_epoch=13, epochs=4)", id="all batches"),
        pytest.param("model.fit(Batches(x, 10), steps_per_epoch=5, epochs=4)", id="two halves"),
        pytest.param("model.fit(Batches(x), steps_per_epoch=3, epochs=4)", id="never at the end"),
        pytest.param(
            "model.fit(Batches(x, 1), steps_per_epoch=101, epochs=99)", id="one of a hundred"
        ),
        pytest.param("model.fit(Batches(read), steps_per_epoch=7, epochs=4)", id="any length"),
        pytest.param("model.fit(Batches(x), steps_per_epoch=n, epochs=4)", id="any number"),
        pytest.param("model.fit(ds.batch(32).repeat(), steps_per_epoch=3, epochs=4)", id="endless"),
        pytest.param(
            "model.fit(ds.batch(32, drop_remainder=True), steps_per_epoch=3, epochs=4)",
            id="dropped",
        ),
        pytest.param(
            "model.fit(x, y, batch_size=32, steps_per_epoch=3, epochs=4, validation_split=0.2)",
            id="a part of it",
        ),
        pytest.param("model.fit(Batches(x), steps_per_epoch=len(x), epochs=4)", id="in samples"),
    ],
)
def test_stays_silent_on_text(code):
    assert lines(CAUSE, TEXT + code) == []


def lengths(*steps, asked=None, is_asked=True):
    return EpochLengths(steps, asked, is_asked, None, None)


def test_the_last_epoch_may_be_ended_by_anybody():
    assert lengths(7, 3, 7, 3, asked=7).short == (3,)
    assert lengths(7, 7, 3, asked=7).short == ()


def test_without_a_number_the_longest_epoch_was_meant():
    assert lengths(9, 2, 0, 9, is_asked=False).short == (2, 0)
    assert lengths().expected == 0


def test_what_was_lost_is_a_share_of_what_was_asked_for():
    assert lengths(7, 3, 7, 3, asked=7).lost_share == pytest.approx(8 / 28)
    assert lengths(8, 8, asked=7).lost_share == 0.0
    assert lengths().lost_share == 0.0


def counted(log_lines=None, **facts):
    made = recording(steps=90, epochs=3)
    made.main.tables["loops"][0]["facts"] |= facts
    if log_lines is not None:
        made.run["log_lines"] = log_lines
    return made


def test_steps_are_counted_by_epoch():
    found = epoch_lengths(Signals(counted(steps_per_epoch=40, data_batches=70)))
    assert found.steps == (30, 30, 30)
    assert (found.asked, found.is_asked, found.data_batches) == (40, True, 70)
    assert found.ran_out is None
    found = epoch_lengths(Signals(counted(data_batches=30)))
    assert (found.asked, found.is_asked) == (30, False)
    assert epoch_lengths(Signals(counted())).asked is None


def test_several_steps_in_one_call_count_as_one():
    found = epoch_lengths(Signals(counted(steps_per_epoch=75, steps_per_execution=10)))
    assert found.asked == 8


def test_epochs_whose_steps_were_merged_are_left_out():
    made = counted(steps_per_epoch=30)
    made.main.tables["steps"] = made.main.tables["steps"][40:]
    made.main.tables["step_blocks"] = [{"loop": 1}]
    assert epoch_lengths(Signals(made)).steps == (30,)


def test_the_log_confirms():
    line = {"pattern": "ran-out-of-data", "count": 2, "first_s": 1.0, "last_s": 2.0}
    made = counted([{**line, "text": "input ran out of data", "numbers": []}])
    assert epoch_lengths(Signals(made)).ran_out == 2
    assert epoch_lengths(Signals(counted([]))).ran_out == 0

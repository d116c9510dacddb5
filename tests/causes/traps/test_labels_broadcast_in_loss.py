"""`labels-broadcast-in-loss`: fires where the graph shows it, whatever it costs."""

import pytest

from hand_runs import hand_run
from quickfit.causes.traps.labels_broadcast_in_loss import CAUSE, detect, fix
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass, Symptom
from quickfit.signals import Signals

from builders import COMPILE_LINE, FIT_LINE, SCRIPT, recording, run

BATCH = {"batch": [["input", "float32", [None, 64, 64, 3]], ["label", "float32", [None]]]}
MAP = {
    "operation": "Sub",
    "labels": [None],
    "outputs": [None, 64, 64, 1],
    "result": [None, 64, 64, None],
}
LIST = {"operation": "Sub", "labels": [32], "outputs": [32, 1], "result": [32, 32]}


def fitted(seen=None, **facts):
    made = recording(step_s=0.1)
    told = made.main.tables["loops"][0]["facts"]
    told |= {**BATCH, **facts}
    if seen is not None:
        told["labels_broadcast"] = seen
    return Signals(made)


def test_fires_at_the_compile_that_names_a_loss_of_keras():
    seen = {**MAP, "file": SCRIPT, "line": FIT_LINE}
    finding = detect(fitted(seen, batch_size=32))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == COMPILE_LINE
    assert finding.summary == "labels of shape (32,) are compared with all of (32, 64, 64, 1)"
    assert [one.value for one in finding.evidence] == [32, 32 * 64 * 64 * 32, 32]
    # Four million numbers too many, at 0.8 to 4 ns each, in a step of 100 ms.
    assert finding.gain.low == pytest.approx(1.034, abs=0.002)
    assert finding.gain.likely == pytest.approx(1.065, abs=0.003)
    assert finding.gain.high == pytest.approx(1.194, abs=0.003)


def test_fires_at_the_line_of_a_loss_that_the_user_wrote():
    finding = detect(fitted({**LIST, "file": SCRIPT, "line": 6}))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == 6


def test_is_told_though_it_costs_no_time():
    finding = detect(fitted(LIST))
    assert finding is not None
    assert finding.gain.high < 1.05
    assert CAUSE.symptom == Symptom.WRONG


def test_fires_for_a_compiled_function_of_a_loop_by_hand():
    facts = {"labels_followed": True, "labels_broadcast": {**LIST, "file": SCRIPT, "line": 6}}
    finding = detect(hand_run("custom", stacks=[], facts=facts))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == 6


def test_labels_with_one_side_more_than_the_predictions_are_meant_too():
    seen = {"operation": "Sub", "labels": [32, 1], "outputs": [32], "result": [32, 32]}
    finding = detect(fitted(seen))
    assert finding is not None
    assert finding.evidence[0].value == 32


def test_of_sequences_of_any_length_the_least_is_said():
    seen = {
        "operation": "SquaredDifference",
        "labels": [None],
        "outputs": [None, None, 1],
        "result": [None, None, None],
    }
    finding = detect(fitted(seen, batch_size=16))
    assert finding is not None
    assert finding.evidence[0].value == 16


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(None, id="nothing is broadcast"),
        pytest.param(
            {"operation": "Sub", "labels": [1], "outputs": [1, 1], "result": [1, 1]},
            id="a batch of one",
        ),
        pytest.param(
            {"operation": "Mul", "labels": [32, 1], "outputs": [32, 10], "result": [32, 10]},
            id="a part that is stretched to the other's shape",
        ),
    ],
)
def test_stays_silent_when(seen):
    assert detect(fitted(seen)) is None


def test_stays_silent_in_a_loop_that_was_looked_at_or_does_not_train():
    assert detect(hand_run("custom", stacks=[], facts={"labels_followed": True})) is None
    looks = {"trains": False, "head": "predict"}
    assert detect(hand_run("predict", stacks=[], facts=looks)) is None


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="an older recording"),
        pytest.param(fitted(run_eagerly=True), id="an eager step"),
        pytest.param(hand_run("custom", stacks=[]), id="an eager loop by hand"),
    ],
)
def test_says_that_it_could_not_look(signals):
    with pytest.raises(SignalMissing, match="graph of the train step"):
        detect(signals)


def test_the_fix_is_a_head_that_fits_or_a_loss_that_does():
    signals = fitted(MAP)
    shown = fix(detect(signals), signals)
    assert shown is not None
    assert shown.kind == FixClass.REPAIRS
    assert "GlobalAveragePooling2D" in shown.example
    signals = fitted(LIST)
    shown = fix(detect(signals), signals)
    assert shown is not None
    assert shown.example.splitlines()[0] == "labels = tf.reshape(labels, tf.shape(predictions))"

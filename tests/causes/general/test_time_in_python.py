"""`time-in-python`: fires when the script's own Python between steps takes a share of the run."""

import pytest

from fit_runs import FIT, FIT_LINE, STEP, many_fits
from hand_runs import COMPILED, COMPILED_CALL, TF, TRAIN_ON_BATCH, hand_run
from quickfit.causes.general.time_in_python import detect, fix
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import FixClass
from quickfit.signals import Signals
from whole_runs import FIT as KERAS_FIT
from whole_runs import SCRIPT, Seen, finish, see, shift_epochs, whole_run

from builders import FIT_LINE as CALL_LINE
from builders import recording

LOOP_LINE, PLAY_LINE = 30, 28
GRADIENT = (f"{TF}/eager/backprop.py", "gradient")


def loop(kind="custom", **given):
    stacks = [((COMPILED_CALL,), LOOP_LINE, 50), ((), PLAY_LINE, 50)]
    signals = hand_run(kind, **{"stacks": stacks, "call_s": 0.04, "cpu_s": 0.08, **given})
    first = signals.recording.main.tables["steps"][0]
    first["call_s"] = first["end_s"] - first["begin_s"]  # it builds the graph
    return signals


def test_fires_at_the_line_between_the_steps():
    signals = loop()
    finding = detect(signals)
    assert finding.where.line == PLAY_LINE
    spent, each, line = finding.evidence
    assert each.value == pytest.approx(0.06, rel=0.05)
    assert spent.value == pytest.approx(105 * each.value)
    assert line.value == pytest.approx(1.0)
    assert finding.claims == ("between",)
    assert fix(finding, signals).kind == FixClass.SHOW_ONLY


def test_fires_at_the_line_between_calls_of_fit():
    seen = [((COMPILED, STEP, FIT), FIT_LINE, 20), ((), PLAY_LINE, 80)]
    signals = many_fits(calls=20, outside_s=1.0, setup_s=0.01, stacks=seen)
    finding = detect(signals)
    assert finding.where.line == PLAY_LINE
    assert finding.summary == "Python between the calls of the loop takes much of the run"
    assert finding.claims == ("between_loops",)
    assert len(finding.evidence) >= 2


def between_epochs(each_s, library=()):
    """Return a `fit` that stands for a time between two epochs, at a line of the script or not."""
    made = recording(step_s=0.05, steps=120, epochs=4)
    shift_epochs(made, each_s)
    standing = (Seen(each_s, CALL_LINE, (*library, KERAS_FIT)),)
    for epoch in made.main.tables["epochs"]:
        see(made, epoch["end_s"] - each_s, standing, loop=1)
    finish(made)
    return Signals(made)


def test_fires_at_the_line_that_runs_between_two_epochs():
    signals = between_epochs(6.0, ((SCRIPT, "on_epoch_end", PLAY_LINE),))
    finding = detect(signals)
    assert finding.where.line == PLAY_LINE
    assert finding.claims == ("epoch_ends",)
    spent, each, line = finding.evidence
    assert each.value == pytest.approx(6.0, rel=0.1)
    assert spent.value == pytest.approx(24.0, rel=0.1)
    assert line.value > 0.8  # the rest of its windows was in steps
    assert "on_epoch_end" in fix(finding, signals).example


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(between_epochs(6.0), id="Keras itself is between two epochs"),
        pytest.param(
            loop(call_s=0.095, stacks=[((COMPILED_CALL,), LOOP_LINE, 100)]), id="it is short"
        ),
        pytest.param(whole_run(), id="a healthy fit"),
        pytest.param(many_fits(), id="calls of fit follow each other at once"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_the_diagnosis_leaves_a_loop_of_train_on_batch_to_its_own_cause():
    call = ((COMPILED_CALL, TRAIN_ON_BATCH), LOOP_LINE, 50)
    signals = loop(
        "train_on_batch",
        stacks=[call, ((), PLAY_LINE, 50)],
        call_s=0.05,
        copies_s=0.004,
        calls=[("train", LOOP_LINE, 100, 0.05)],
    )
    assert detect(signals) is not None
    causes = [f.cause for f in diagnose_recording(signals.recording).findings]
    assert "train-on-batch-loop" in causes
    assert "time-in-python" not in causes


TAPED = """\
for state in states:
    play(state)
    with tf.GradientTape() as tape:
        loss = loss_of(model(state))
    optimizer.apply_gradients(zip(tape.gradient(loss, w), w))
"""


def test_what_a_tape_records_is_the_step_and_not_python_between_steps():
    stacks = [((GRADIENT,), 5, 40), ((), 4, 60)]
    finding = detect(loop(stacks=stacks, source=TAPED, facts={"eager_loop": True}))
    assert finding.summary == "the step starts its operations one by one from Python"
    assert finding.claims == ("step",)
    stacks = [((GRADIENT,), 5, 40), ((), 4, 10), ((), 2, 50)]
    finding = detect(loop(stacks=stacks, source=TAPED, facts={"eager_loop": True}))
    assert finding.where.line == 2

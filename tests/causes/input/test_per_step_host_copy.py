"""`per-step-host-copy`: fires when a loop makes and copies large arrays in every step."""

import pytest

from hand_runs import COMPILED_CALL, METRIC, hand_run
from quickfit.causes import catalogue
from quickfit.causes.input.per_step_host_copy import detect
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

from builders import SCRIPT, run

fix = catalogue()["per-step-host-copy"].fix

SOURCE = """\
import numpy as np
for start in range(0, len(images), 64):
    chosen = order[start : start + 64]
    batch = (images[chosen] / 255.0).astype("float32")
    loss = train_step(tf.constant(batch), labels[chosen])
    write_report(loss)
"""
MAKES, COPIES, REPORTS = 4, 5, 6
CALL = ((COMPILED_CALL,), COPIES, 50)


def loop(**given):
    copied = {"outside_s": 0.1, "bytes": 70_000_000, "file": SCRIPT, "line": COPIES, "line_s": 0.1}
    copied |= given.pop("copied", {})
    return hand_run(
        given.pop("kind", "custom"),
        **{
            "stacks": [CALL, ((), MAKES, 40), ((), COPIES, 10)],
            "call_s": 0.05,
            "cpu_s": 0.08,
            "copies_s": 0.01,
            "copied": copied,
            "calls": [("function", COPIES, 100, 0.05)],
            "head_line": 2,
            "source": SOURCE,
            **given,
        },
    )


def test_fires_with_the_time_and_the_bytes_of_a_step():
    finding = detect(loop())
    assert finding is not None
    assert [e.value for e in finding.evidence] == pytest.approx([0.05, 7_000_000])
    assert finding.gain.low <= finding.gain.likely <= finding.gain.high
    assert finding.gain.likely > 1.2
    assert finding.cost_share == pytest.approx(0.5)


def test_names_the_line_that_takes_much_longer_than_the_copy():
    finding = detect(loop())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == MAKES


def test_names_the_line_that_copies_where_making_is_as_quick():
    finding = detect(loop(copies_s=0.03, copied={"outside_s": 0.3, "line_s": 0.3}))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == COPIES


def test_fires_for_an_array_that_the_compiled_function_copies():
    signals = loop(stacks=[CALL, ((), 3, 20)], call_s=0.095, copies_s=0.03, copied={"outside_s": 0})
    finding = detect(signals)
    assert finding is not None
    assert finding.evidence[0].value == pytest.approx(0.035)


def test_needs_no_samples_between_the_calls_where_there_is_no_time():
    signals = loop(stacks=[CALL], call_s=0.099, copies_s=0.03, copied={"outside_s": 0})
    finding = detect(signals)
    assert finding is not None
    assert finding.where is not None
    assert (finding.where.line, finding.evidence[0].value) == (COPIES, pytest.approx(0.03))


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"call_s": 0.09}, id="the step takes nearly all"),
        pytest.param({"copied": {"bytes": 400_000}}, id="small arrays"),
        pytest.param(
            {"copied": {"file": None, "line": None, "line_s": None}}, id="a library copies"
        ),
        pytest.param({"stacks": [CALL, ((), REPORTS, 50)]}, id="another line takes the time"),
        pytest.param({"stacks": [CALL, ((METRIC,), REPORTS, 50)]}, id="metrics take the time"),
        pytest.param({"stacks": [CALL, ((), 1, 50)]}, id="what is outside the loop"),
        pytest.param(
            {"calls": [("function", COPIES, 100, 0.05), ("predict", 3, 100, 0.01)]},
            id="the model makes the batches",
        ),
        pytest.param({"kind": "train_on_batch"}, id="train-on-batch-loop reports it"),
        pytest.param({"facts": {"trains": False}}, id="nothing trains"),
    ],
)
def test_stays_silent_when(given):
    assert detect(loop(**given)) is None


def test_stays_silent_on_a_healthy_fit():
    assert detect(run()) is None


def test_says_that_it_could_not_look_when_no_copy_was_timed():
    signals = hand_run("custom", stacks=[CALL], call_s=0.05, cpu_s=0.08)
    with pytest.raises(SignalMissing, match="arrays"):
        detect(signals)


def test_says_that_it_could_not_look_with_few_samples():
    with pytest.raises(SignalMissing, match="samples between"):
        detect(loop(stacks=[CALL, ((), MAKES, 2), ((), REPORTS, 3)]))


def test_a_few_samples_that_agree_are_enough():
    finding = detect(loop(stacks=[CALL, ((), MAKES, 5)], base={"steps": 5}))
    assert finding is not None


def test_the_fix_shows_rows_of_a_tensor():
    signals = loop()
    finding = detect(signals)
    assert finding is not None
    shown = fix(finding, signals)
    assert shown is not None
    assert shown.kind == FixClass.EQUIVALENT
    assert (
        shown.example.splitlines()[-1]
        == "    loss = train_on(tf.constant(order[start : start + 128]))"
    )

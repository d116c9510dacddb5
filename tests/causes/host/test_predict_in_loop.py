"""`predict-in-loop`: fires when calls of `predict` take the time, and not the model in them."""

import pytest

from hand_runs import COMPILED, DROPPED, MAKE_ITERATOR, PREDICT, hand_run
from quickfit.causes.host.predict_in_loop import detect, fix
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

from builders import run

LINE = 12
BUILDS = ((MAKE_ITERATOR, PREDICT), LINE, 80)
COMPUTES = ((COMPILED, PREDICT), LINE, 8)
OTHER = ((), 20, 10)


def agent(**given):
    return hand_run(
        given.pop("kind", "custom"),
        **{
            "stacks": [BUILDS, COMPUTES, OTHER],
            "step_s": 0.06,
            "calls": [("predict", LINE, 100, 0.05)],
            **given,
        },
    )


def test_fires_at_the_line_with_the_cost_of_a_call():
    finding = detect(agent())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == LINE
    assert finding.evidence[0].value == pytest.approx(0.05)
    assert finding.evidence[1].value == pytest.approx(88 / 98)
    assert finding.is_of_whole
    assert 2 < finding.gain.low < finding.gain.likely < finding.gain.high


def test_counts_the_dropping_of_what_a_call_made():
    with_drops = detect(agent(stacks=[BUILDS, COMPUTES, ((DROPPED,), LINE, 10)]))
    assert with_drops is not None
    assert with_drops.evidence[1].value == pytest.approx(1.0)


def test_fires_for_a_callback_of_fit():
    finding = detect(agent(kind="fit", base={"callback_s": 0.05}))
    assert finding is not None
    assert "callbacks" in finding.claims


def test_a_loop_that_only_predicts_is_one_too():
    finding = detect(agent(kind="predict", facts={"trains": False, "head": "predict"}))
    assert finding is not None
    assert "step" in finding.claims


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(
            {"stacks": [((MAKE_ITERATOR, PREDICT), LINE, 20), ((COMPILED, PREDICT), LINE, 70)]},
            id="many rows per call",
        ),
        pytest.param({"calls": [("predict", LINE, 5, 0.05)]}, id="once per epoch"),
        pytest.param({"calls": []}, id="no call"),
        pytest.param({"stacks": [BUILDS, ((), 20, 2000)]}, id="a small share of the time"),
    ],
)
def test_stays_silent_when(given):
    assert detect(agent(**given)) is None


def test_stays_silent_on_a_healthy_fit_and_for_a_slow_callback():
    assert detect(run()) is None
    assert detect(run(callback_s=0.03)) is None


def test_says_that_it_could_not_look_when_hardly_a_sample_was_taken():
    with pytest.raises(SignalMissing, match="samples inside"):
        detect(agent(stacks=[((MAKE_ITERATOR, PREDICT), LINE, 5)]))


def test_the_fix_shows_the_compiled_model():
    signals = agent()
    finding = detect(signals)
    assert finding is not None
    shown = fix(finding, signals)
    assert shown is not None
    assert shown.kind == FixClass.EQUIVALENT
    assert shown.example.splitlines()[0] == "forward = tf.function(model)"

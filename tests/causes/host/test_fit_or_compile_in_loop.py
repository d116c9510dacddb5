"""`fit-or-compile-in-loop`: fires when calls of `fit` set up, or compile, for long."""

import pytest

from fit_runs import COMPILE_LINE, FIT, FIT_LINE, SEEN, STEP, many_fits
from hand_runs import COMPILED
from quickfit.causes.host.fit_or_compile_in_loop import detect, fix
from quickfit.findings import FixClass

from builders import run

BUILT_IN_A_LOOP = """\
for fold in range(8):
    model = keras.Sequential(layers, name="net")
    model.compile("adam", loss="mse")
    model.fit(x, y)
"""
COMPILED_BY_A_HELPER = """\

def prepare(model):
    model.compile("adam", loss="mse"); return model
model.fit(x, y)
"""
COMPILED_ONCE = """\
model = keras.Sequential(layers)

model.compile("adam", loss="mse")
model.fit(x, y)
"""


def found(**given):
    signals = many_fits(**given)
    finding = detect(signals)
    assert finding is not None
    assert finding.where is not None
    advice = fix(finding, signals)
    assert advice is not None
    assert advice.kind is FixClass.MAY_CHANGE_RESULTS
    return finding, advice


def test_fires_for_many_calls_with_clock_and_samples():
    finding, _ = found()
    assert finding.where.line == FIT_LINE
    assert finding.summary == "`fit` is called 20 times, for 20 steps each"
    calls, setup, sampled = finding.evidence
    assert calls.value == 20
    assert setup.value == pytest.approx(0.05)
    assert sampled.value == pytest.approx(0.5)
    assert finding.claims == ("fit_calls",)
    assert finding.is_of_whole
    # Nineteen times 50 ms of 5.1 s; nine tenths of that.
    assert finding.cost_share == pytest.approx(0.9 * 0.95 / 5.09, rel=0.01)
    assert 1.1 < finding.gain.low < finding.gain.likely < finding.gain.high


@pytest.mark.parametrize("text", [None, COMPILED_BY_A_HELPER], ids=["beside", "in a helper"])
def test_fires_at_the_compile_of_a_model_that_is_traced_in_every_call(text):
    finding, advice = found(traced_s=0.3, **({"text": text} if text else {}))
    assert finding.where.line == COMPILE_LINE
    assert finding.summary == "the model is compiled again for each of 20 calls of `fit`"
    assert finding.evidence[2].value == 19
    assert "tracing" in finding.claims
    assert advice.title == "Compile once, before the loop, and call `fit` once"
    assert "LearningRateScheduler" in advice.example


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"models": True}, id="names of their own"),
        pytest.param({"text": BUILT_IN_A_LOOP}, id="one name for all"),
        pytest.param({"text": COMPILED_ONCE}, id="compiled where nothing is repeated"),
    ],
)
def test_models_that_are_traced_anew_are_not_one_that_is_compiled_again(given):
    finding, advice = found(traced_s=0.3, **given)
    assert finding.where.line == FIT_LINE
    assert finding.summary == "`fit` is called 20 times, each with a model that is traced anew"
    assert advice.example.splitlines()[0] == "first = model.get_weights()"


def test_short_calls_become_one_epoch_at_best():
    chunks, _ = found(steps=4)
    epochs, _ = found(steps=12)
    assert chunks.gain.high > epochs.gain.high


def evaluated_between(signals, seconds):
    """Let the script evaluate between its calls of `fit`."""
    tables = signals.recording.main.tables
    rows, steps = tables["loops"], tables["steps"]
    steps += [
        {**steps[0], "loop": 99, "step": number, "epoch": number}
        | {"begin_s": row["end_s"], "end_s": row["end_s"] + seconds}
        for number, row in enumerate(rows[:-1], start=1)
    ]
    facts = {"trains": False, "input": "arrays"}
    rows.append({**rows[0], "id": 99, "kind": "evaluate", "line": 9, "facts": facts})
    return signals


def test_an_evaluation_between_the_calls_is_not_gained_at_best():
    given = {"setup_s": 0.5, "outside_s": 0.5}
    plain, _ = found(**given)
    finding = detect(evaluated_between(many_fits(**given), 0.4))
    assert finding is not None
    assert finding.gain.likely == pytest.approx(plain.gain.likely)
    assert finding.gain.high < 0.7 * plain.gain.high


def test_calls_of_several_steps_are_to_become_one():
    _, advice = found()
    assert advice.title == "Call `fit` once, for all epochs or all parts of the data"
    assert "epochs=50" in advice.example


def test_calls_of_single_steps_are_to_become_train_on_batch():
    finding, advice = found(steps=1, calls=60)
    assert finding.summary == "`fit` is called 60 times, for one step each"
    assert advice.example == "for x, y in batches:\n    loss = model.train_on_batch(x, y)"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"calls": 3, "steps": 30}, id="three phases"),
        pytest.param({"steps": 100}, id="calls that train for long"),
        pytest.param({"steps": 100, "outside_s": 2.0}, id="the script's own work between calls"),
        pytest.param(
            {"stacks": [((COMPILED, STEP, FIT), FIT_LINE, 95), (*SEEN[1][:2], 5)]},
            id="the samples are in the steps",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(many_fits(**given)) is None


def test_stays_silent_for_one_fit_and_for_its_own_retraces():
    assert detect(run()) is None
    assert detect(run(traces=[(n, 0.5, str(n)) for n in range(10, 90, 10)])) is None

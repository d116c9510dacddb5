"""`tiny-batch`: fires when a step of a few examples is mostly fixed cost."""

import pytest

from hand_runs import COMPILED_CALL, NATIVE, TRAINER, hand_run
from quickfit.causes.host.tiny_batch import CAUSE, detect
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

from builders import BATCH_LINE, START_S, run, shown_fix
from programs import lines, spots

FIT_LINE = 5
FIT = (TRAINER, "fit")
LARGE_MODEL = [
    ((NATIVE, COMPILED_CALL, FIT), FIT_LINE, 95),
    ((COMPILED_CALL, FIT), FIT_LINE, 5),
]
SOURCE = """\
import keras

model.compile("adam", loss="mse")

model.fit(x, y, batch_size=2, epochs=4)
"""


def fit(**given):
    facts = {"input": "arrays", "batch_size": 2, **given.pop("facts", {})}
    step_s = given.pop("step_s", 0.005)
    base = {"input_wait_s": 0.0, "cpu_cores": 1.2, "steps": 1005, **given.pop("base", {})}
    signals = hand_run(
        "fit",
        **{
            "stacks": [],
            "step_s": step_s,
            "cpu_s": 0.65 * step_s,
            "facts": facts,
            "head_line": FIT_LINE,
            "base": base,
            **given,
        },
    )
    signals.process.tables["sources"][0]["text"] = SOURCE
    return signals


def test_fires_at_fit_with_the_fixed_cost():
    finding = detect(fit())
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == FIT_LINE
    assert finding.evidence[0].value == 2
    assert finding.evidence[1].value == pytest.approx(0.63, abs=0.03)
    assert 1.3 < finding.gain.low < finding.gain.likely < finding.gain.high <= 16.1


def test_fires_where_samples_see_python_outside_the_compiled_function():
    stacks = [(frames, line, 50) for frames, line, _ in LARGE_MODEL]
    finding = detect(fit(stacks=stacks, base={"facts": {"samples_native": True}}))
    assert finding is not None
    assert finding.evidence[1].value == pytest.approx(0.5, abs=0.03)


def test_the_batch_of_a_pipeline_is_named_at_its_line():
    signals = fit(facts={"input": "tf.data"})
    for row in signals.process.tables["datasets"]:
        if row["kind"] == "Batch":
            row["facts"]["batch_size"] = 4
    finding = detect(signals)
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == BATCH_LINE
    assert finding.evidence[0].value == 4


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"facts": {"batch_size": 32}}, id="enough examples"),
        pytest.param({"cpu_s": 0.00025}, id="the examples take the time"),
        pytest.param({"base": {"input_wait_s": 0.0025}}, id="the input takes the time"),
        pytest.param({"step_s": 0.7}, id="a large model that computes on the main thread"),
        pytest.param(
            {"stacks": LARGE_MODEL, "base": {"facts": {"samples_native": True}}},
            id="a compiled function holds the main thread",
        ),
        pytest.param({"facts": {"run_eagerly": True}}, id="eager"),
        pytest.param(
            {"base": {"steps": 320, "facts": {"started_s": START_S - 60}}},
            id="a training that is short beside what comes before it",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(fit(**given)) is None


def test_stays_silent_on_a_healthy_fit():
    assert detect(run()) is None


def test_says_that_it_could_not_look_when_nobody_knows_the_batch():
    with pytest.raises(SignalMissing, match="examples in a batch"):
        detect(fit(facts={"batch_size": None}))


def test_the_fix_changes_the_number():
    signals = fit()
    finding = detect(signals)
    assert finding is not None
    edit = shown_fix("tiny-batch", finding, signals)
    assert edit is not None
    assert edit.kind == FixClass.MAY_CHANGE_RESULTS
    assert edit.before == "model.fit(x, y, batch_size=2, epochs=4)"
    assert edit.after == "model.fit(x, y, batch_size=32, epochs=4)"


# -- from the text of a program ---------------------------------------------------------------

NET = "import keras\nmodel = keras.Sequential([keras.layers.LSTM(4)])\n"


def test_text_gives_a_hint_at_one_example_per_step():
    text = NET + "SIZE = 1\nmodel.fit(x, y, batch_size=SIZE)\n"
    (spot,) = spots(CAUSE, text)
    assert spot.is_hint
    assert spot.where.line == 4


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(NET + "model.fit(x, y, batch_size=32)\n", id="more"),
        pytest.param(NET + "model.fit(x, y)\n", id="the default"),
        pytest.param(NET + "model.fit(x, y, batch_size=size)\n", id="anything"),
        pytest.param(
            NET.replace("4)", "4, stateful=True)") + "model.fit(x, y, batch_size=1)\n",
            id="an RNN that keeps its state",
        ),
        pytest.param("knn.fit(x, y, 1)\n", id="another library"),
    ],
)
def test_text_is_fine_with(text):
    assert lines(CAUSE, text) == []

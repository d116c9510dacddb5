"""`float64-data`: fires when the arithmetic of the step is in double precision."""

import pytest

from hand_runs import COMPILED_CALL, hand_run
from quickfit.causes.input.float64_data import detect, fix
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

from builders import run

ARRAYS = """\
import numpy as np
import tensorflow as tf
rng = np.random.default_rng(0)
x = rng.normal(size=(1000, 64))
x = x - x.mean()
for start in range(0, len(x), 32):
    loss = train_step(x[start : start + 32])
"""
KERAS = """\
import keras
keras.backend.set_floatx("float64")
model.fit(x, y)
"""
CALL = ((COMPILED_CALL,), 7, 100)


def loop(**given):
    base = {"cpu_cores": 1.6, **given.pop("base", {})}
    return hand_run(
        given.pop("kind", "custom"),
        **{
            "stacks": [CALL],
            "call_s": 0.095,
            "cpu_s": 0.002,
            "calls": [("function", 7, 100, 0.095)],
            "head_line": 6,
            "source": ARRAYS,
            "products": [8, 8],
            "base": base,
            **given,
        },
    )


def test_fires_with_the_products_and_the_time_of_the_arithmetic():
    finding = detect(loop())
    assert finding is not None
    assert [e.value for e in finding.evidence] == pytest.approx([1.0, 0.093], rel=0.1)
    assert 1.5 < finding.gain.low < finding.gain.likely < finding.gain.high
    assert finding.gain.likely == pytest.approx(3.0, rel=0.2)


def test_names_the_line_that_sets_the_precision_of_keras():
    finding = detect(loop(source=KERAS, facts={"variable_dtype": "float64"}))
    assert finding is not None
    assert finding.where is not None
    assert (finding.where.line, finding.where.text) == (2, 'keras.backend.set_floatx("float64")')


def test_fires_for_a_fit_whose_variables_are_double():
    facts = {"variable_dtype": "float64"}
    finding = detect(loop(kind="fit", source=KERAS, facts=facts, head_line=3))
    assert finding is not None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"products": [0, 8]}, id="the products are single"),
        pytest.param({"products": [1, 8]}, id="only a loss is double"),
        pytest.param({"facts": {"variable_dtype": "float32"}}, id="Keras casts the data"),
        pytest.param({"call_s": 0.01}, id="the step is mostly Python"),
        pytest.param({"wait_s": 0.09, "call_s": 0.005}, id="the step mostly waits"),
        pytest.param(
            {"step_s": 0.001, "call_s": 0.0008, "cpu_s": 0.0002, "base": {"steps": 4005}},
            id="a step of no arithmetic",
        ),
        pytest.param({"base": {"cpu_cores": 0.1}}, id="its threads hardly compute"),
        pytest.param({"facts": {"eager_loop": True}}, id="it is not compiled"),
        pytest.param({"facts": {"trains": False}}, id="nothing trains"),
        pytest.param({"kind": "predict", "facts": {"trains": False}}, id="a prediction"),
    ],
)
def test_stays_silent_when(given):
    assert detect(loop(**given)) is None


def test_says_that_it_could_not_look_when_no_product_was_seen():
    with pytest.raises(SignalMissing, match="compiled step"):
        detect(run())


def test_the_input_may_be_the_next_limit():
    finding = detect(loop(base={"cpu_cores": 1.6, "map_s": 0.160}))
    assert finding is not None
    assert finding.gain.basis.endswith("then the input is the limit")


def test_the_fix_changes_the_line_that_sets_the_precision():
    signals = loop(source=KERAS)
    finding = detect(signals)
    assert finding is not None
    shown = fix(finding, signals)
    assert shown is not None
    assert shown.before == 'keras.backend.set_floatx("float64")'
    assert shown.after == 'keras.backend.set_floatx("float32")'
    assert shown.kind == FixClass.MAY_CHANGE_RESULTS


def test_the_fix_shows_how_to_cast_data_elsewhere():
    signals = loop()
    finding = detect(signals)
    assert finding is not None
    shown = fix(finding, signals)
    assert shown is not None
    assert not shown.before
    assert shown.example.startswith("x = np.random.normal(size=(10_000, 512)).astype")

"""`float64-data`: fires when the arithmetic of the step is in double precision."""

import dataclasses

import pytest

from hand_runs import COMPILED_CALL, hand_run
from quickfit.causes import catalogue
from quickfit.causes.input.float64_data import detect
from quickfit.causes.input.float64_data.run import asking_line, compute_s, products, setter
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass

from builders import SCRIPT, run, shown_fix

fix = catalogue()["float64-data"].fix

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


def test_the_fix_removes_the_line_that_sets_the_precision():
    signals = loop(source=KERAS)
    finding = detect(signals)
    assert finding is not None
    shown = shown_fix("float64-data", finding, signals)
    assert shown is not None
    assert shown.before == 'keras.backend.set_floatx("float64")'
    assert not shown.after  # float32 is Keras's own
    assert shown.kind == FixClass.MAY_CHANGE_RESULTS


def test_the_fix_shows_how_to_cast_data_elsewhere():
    signals = loop()
    finding = detect(signals)
    assert finding is not None
    shown = fix(finding, signals)
    assert shown is not None
    assert not shown.before
    assert shown.example.startswith("x = np.random.normal(size=(10_000, 512)).astype")


def loop_doubles(source="", **given):
    return hand_run("custom", **{"stacks": [], "source": source, "products": [2, 4], **given})


def asked_at(source, **given):
    where = asking_line(loop_doubles(source, **given))
    return where.line if where is not None else None


def test_products_of_all_functions_are_added_each_counted_once():
    signals = loop_doubles()
    rows = signals.process.tables["traces"]
    rows.append(dict(rows[0]))
    rows.append({**rows[0], "name": "model", "arguments": {"products": [4, 4]}})
    rows.append({**rows[0], "name": "Dataset_map_scale", "arguments": {"products": [9, 9]}})
    rows.append({**rows[0], "name": "old", "arguments": None})
    seen = products(signals)
    assert (seen.doubles, seen.total, seen.share) == (6, 8, 0.75)


def test_without_products_it_is_not_known():
    signals = loop_doubles()
    signals.process.tables["traces"] = []
    with pytest.raises(SignalMissing, match="products"):
        products(signals)


@pytest.mark.parametrize(
    ("given", "expected_s"),
    [
        pytest.param({"call_s": 0.09}, 0.0878, id="the call without Python"),
        pytest.param({"call_s": 0.09, "logs_s": 0.04}, 0.0478, id="without reading metrics"),
        pytest.param({"call_s": 0.09, "wait_s": 0.005}, 0.0878, id="a wait outside the call"),
        pytest.param({"call_s": 0.09, "base": {"cpu_cores": 0.3}}, 0.02, id="idle threads"),
    ],
)
def test_the_time_of_the_arithmetic(given, expected_s):
    signals = loop_doubles(cpu_s=0.012, **given)
    assert compute_s(signals) == pytest.approx(expected_s, rel=0.12)


def test_on_an_accelerator_it_is_the_call():
    devices = {"tensorflow_devices": [["GPU", "/physical_device:GPU:0"]]}
    signals = loop_doubles(call_s=0.09, cpu_s=0.09, wait_s=0.001, base={"facts": devices})
    assert compute_s(signals) == pytest.approx(0.09)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ('import keras\nkeras.backend.set_floatx("float64")', 2),
        ('import keras\n\nkeras.config.set_dtype_policy("float64")', 3),
        ("set_floatx(value='float64')", 1),
        ('set_floatx("float32")', None),
        ("# set_floatx", None),
    ],
)
def test_the_line_that_sets_the_precision(source, line):
    where = setter(loop_doubles(source))
    assert (where.line if where is not None else None) == line


def test_data_of_a_hand_written_loop_is_followed():
    source = "x = np.zeros(9)\nfor i in range(9):\n    Sequential(x[i])\n"
    calls = [("function", 3, 100, 0.05)]
    assert asked_at(source, calls=calls) == 1


def test_data_of_a_dataset_is_followed():
    source = "import numpy as np\nx = np.load(p)\nds = tf.data.Dataset.from_tensor_slices(x)\n"
    signals = loop_doubles(source)
    slices = signals.process.tables["datasets"][0]
    slices["line"], slices["facts"] = 3, {"call": "from_tensor_slices"}
    where = asking_line(signals)
    assert where is not None
    assert (where.file, where.line) == (SCRIPT, 2)


def test_a_type_that_is_written_out_is_the_next_best():
    assert asked_at("a = 1\nw = tf.Variable(v, dtype=tf.float64)\n") == 2


def test_data_does_not_matter_to_variables_of_keras():
    source = "x = np.zeros(9)\nmodel = build(dtype='float64')\nfor i in y:\n    Sequential(x)\n"
    calls = [("function", 4, 100, 0.05)]
    assert asked_at(source, calls=calls, facts={"variable_dtype": "float64"}) == 2


def test_where_nothing_tells_it_is_the_loop():
    assert asked_at("a = 1\n", head_line=1, base={"with_model": False}) == 1


@pytest.mark.parametrize(("waiting", "computed_s"), [(0.0, 0.01), (1.6, 0.093)])
def test_threads_that_wait_for_a_core_would_compute(waiting, computed_s):
    signals = loop(base={"cpu_cores": 0.2})
    delays = {"intra-op": waiting, "main": 0.0}
    vars(signals)["machine"] = dataclasses.replace(signals.machine, thread_delays=delays)
    assert compute_s(signals) == pytest.approx(computed_s, rel=0.15)

"""Double precision: what was compiled, how long it computes, and which line asked for it."""

import pytest

from hand_runs import hand_run
from quickfit.errors import SignalMissing
from quickfit.signals.doubles import asking_line, compute_s, products, setter

from builders import SCRIPT


def loop(source="", **given):
    return hand_run("custom", **{"stacks": [], "source": source, "products": [2, 4], **given})


def asked_at(source, **given):
    where = asking_line(loop(source, **given))
    return where.line if where is not None else None


def test_products_of_all_functions_are_added_each_counted_once():
    signals = loop()
    rows = signals.process.tables["traces"]
    rows.append(dict(rows[0]))
    rows.append({**rows[0], "name": "model", "arguments": {"products": [4, 4]}})
    rows.append({**rows[0], "name": "Dataset_map_scale", "arguments": {"products": [9, 9]}})
    rows.append({**rows[0], "name": "old", "arguments": None})
    seen = products(signals)
    assert (seen.doubles, seen.total, seen.share) == (6, 8, 0.75)


def test_without_products_it_is_not_known():
    signals = loop()
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
    signals = loop(cpu_s=0.012, **given)
    assert compute_s(signals) == pytest.approx(expected_s, rel=0.12)


def test_on_an_accelerator_it_is_the_call():
    devices = {"tensorflow_devices": [["GPU", "/physical_device:GPU:0"]]}
    signals = loop(call_s=0.09, cpu_s=0.09, wait_s=0.001, base={"facts": devices})
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
    where = setter(loop(source))
    assert (where.line if where is not None else None) == line


def test_data_of_a_hand_written_loop_is_followed():
    source = "x = np.zeros(9)\nfor i in range(9):\n    Sequential(x[i])\n"
    calls = [("function", 3, 100, 0.05)]
    assert asked_at(source, calls=calls) == 1


def test_data_of_a_dataset_is_followed():
    source = "import numpy as np\nx = np.load(p)\nds = tf.data.Dataset.from_tensor_slices(x)\n"
    signals = loop(source)
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

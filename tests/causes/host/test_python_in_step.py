"""`python-in-step`: fires when the clock and CPU (or samples) agree on Python in the graph."""

import dataclasses

import pytest

from quickfit.account import loop_account
from quickfit.causes.host.python_in_step import detect, fix
from quickfit.diagnosis import diagnose_recording
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass
from quickfit.signals import Signals

from builders import SCRIPT, STEP_PYTHON_CALL_LINE, STEP_PYTHON_LINE, recording, run

SLOW = {"step_python_s": 0.05, "step_python_samples": 50, "cpu_cores": 1.0}


def changed_row(**changes):
    """Return the signals of a slow run with something else about the function."""
    found = recording(**SLOW)
    found.main.tables["py_functions"][0] |= changes
    return Signals(found)


def with_source(old, new):
    """Return the signals of a slow run whose script says something else."""
    found = recording(**SLOW)
    row = found.main.tables["sources"][0]
    assert old in row["text"]
    row["text"] = row["text"].replace(old, new)
    return Signals(found)


def test_fires_and_names_the_slowest_line_of_the_function():
    finding = detect(run(**SLOW))
    assert finding is not None
    assert finding.where is not None
    assert (finding.where.file, finding.where.line) == (SCRIPT, STEP_PYTHON_LINE + 1)
    assert finding.cost_share == pytest.approx(0.5, abs=0.01)
    assert finding.evidence[0].value == pytest.approx(0.05)
    assert finding.evidence[0].where.line == STEP_PYTHON_CALL_LINE
    assert "native work" in finding.not_found[0]


def test_without_samples_it_names_the_call_that_puts_python_into_the_graph():
    finding = detect(run(**{**SLOW, "step_python_samples": 0}))
    assert finding is not None
    assert finding.where.line == STEP_PYTHON_CALL_LINE
    assert finding.evidence[1].unit == "s"  # the CPU time agrees with the clock


def test_fires_for_a_function_that_waits():
    finding = detect(run(**SLOW, step_python_cpu_s=0.0001))
    assert finding is not None
    assert finding.evidence[1].unit == "share"


def test_the_gain_is_no_more_than_the_native_work_allows():
    little = detect(run(**SLOW))
    much = detect(run(**{**SLOW, "cpu_cores": 2.0}))
    assert little is not None
    assert much is not None
    assert little.gain.high == pytest.approx(0.1 / 0.0475, rel=0.02)
    assert much.gain.high == pytest.approx(0.1 / 0.075, rel=0.02)
    assert much.gain.low < much.gain.likely < much.gain.high


def test_the_gain_is_no_more_than_the_input_allows():
    finding = detect(run(**SLOW, map_s=0.18, parallelism=2.0))
    assert finding is not None
    assert finding.gain.high == pytest.approx(0.1 / 0.09, rel=0.03)
    assert "input is the limit" in finding.gain.basis


def test_the_account_has_it_below_the_train_step_and_no_larger():
    for each_s in (0.05, 5.0):
        node = loop_account(run(**{**SLOW, "step_python_s": each_s}))
        assert node is not None
        step = next(child for child in node.children if child.name == "step")
        (python,) = step.children
        assert python.label == "Python called from the graph"
        assert python.seconds == pytest.approx(min(each_s * 105, step.seconds))
        assert python.where.line == STEP_PYTHON_LINE + 1
        assert sum(line.seconds for line in python.children) <= python.seconds * 1.001
        assert sum(child.seconds for child in node.children) == pytest.approx(node.seconds)


def test_the_verdict_is_a_slow_step():
    found = diagnose_recording(recording(**SLOW))
    assert found.findings[0].cause == "python-in-step"
    assert "Python called from the graph" in found.headline


def test_the_verdict_is_not_compute_bound_where_only_the_clock_says_so():
    found = diagnose_recording(recording(step_python_s=0.05, step_python_cpu_s=0.0))
    assert "python-in-step" not in [finding.cause for finding in found.findings]
    assert found.verdict == "inconclusive"
    assert "Python called from the graph" in found.headline


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="no Python in the graph"),
        pytest.param({"step_python_s": 0.0002, "step_s": 0.05}, id="a cheap function"),
        pytest.param(
            {"step_python_s": 0.05, "step_python_cpu_s": 0.0}, id="only the clock says so"
        ),
        pytest.param({**SLOW, "cpu_cores": 2.0, "step_python_cpu_s": 0.001}, id="it is hidden"),
        pytest.param({"input_wait_s": 0.06, "runs_python": True, "map_s": 0.06}, id="in a map"),
        pytest.param({"input": "generator", "batch_s": 0.09, "input_wait_s": 0.08}, id="generator"),
        pytest.param({**SLOW, "eager": True}, id="run_eagerly"),
    ],
)
def test_stays_silent_when(given):
    assert detect(run(**given)) is None


@pytest.mark.parametrize("graph", ["test_step", "predict_step"])
def test_validation_is_not_the_step(graph):
    assert detect(changed_row(graph=graph)) is None


def test_a_function_of_a_dataset_that_was_traced_before_is_not_the_steps():
    signals = run(
        **SLOW, map_facts={"python_place": {"file": SCRIPT, "line": STEP_PYTHON_CALL_LINE}}
    )
    assert detect(signals) is None


def test_of_a_loop_of_the_script_the_function_that_is_called_most_trains():
    found = recording(**SLOW)
    table = found.main.tables["py_functions"]
    table.append({**table[0], "id": 2, "graph": "val_step", "calls": 50, "wall_s": 2.5})
    found.main.tables["loops"][0]["kind"] = "custom"
    finding = detect(Signals(found))
    assert finding is not None
    assert finding.evidence[0].value == pytest.approx(0.05)


def test_without_the_probe_it_is_not_checked():
    with pytest.raises(SignalMissing, match="Python functions in the graph"):
        detect(run(step_python_s=None))
    found = recording(**SLOW)
    found.main.tables["probes"].append({"name": "py_functions", "state": "failed", "detail": ""})
    with pytest.raises(SignalMissing):
        detect(Signals(found))


def test_the_neighbours_stay_silent():
    found = diagnose_recording(recording(**SLOW))
    assert {"python-in-map", "py-generator-input", "run-eagerly-on", "time-in-python"}.isdisjoint(
        finding.cause for finding in found.findings
    )


def test_the_fix_calls_the_function_once_in_the_users_names():
    signals = run(**SLOW)
    shown = fix(detect(signals), signals)
    assert shown.kind == FixClass.SHOW_ONLY
    assert shown.title == "Call `weigh` once for the data, before training"
    assert shown.example == (
        "# now, in every step: tf.numpy_function(weigh, [y_true], tf.float32)\n"
        "# `y_true` comes from the data. If it treats every sample alone, call it once:\n"
        "weigh_result = weigh(all_y_true)  # NumPy arrays of all the data, before training\n"
        "ds = tf.data.Dataset.from_tensor_slices((x, all_y_true, weigh_result))\n"
        "# and use the third part of each batch where the call is now"
    )


def test_the_fix_of_a_function_that_needs_the_models_output_stays_in_the_graph():
    signals = with_source("[y_true]", "[y_true, y_pred]")
    shown = fix(detect(signals), signals)
    assert shown.title == "Write `weigh` with TensorFlow's operations or keras.ops"
    assert "It needs `y_pred`, which the step computes" in shown.example
    compile(shown.example, "example", "exec")


def test_a_call_that_is_not_plain_is_shown_the_page():
    signals = with_source("tf.numpy_function(weigh, [y_true], tf.float32)", "weighed(y_true)")
    shown = fix(detect(signals), signals)
    assert "border_weights(masks)" in shown.example
    finding = dataclasses.replace(detect(signals), fix=shown)
    compile(finding.fix.example, "example", "exec")

"""Real traces on real TensorFlow: of what, called from where, and what differed."""

import pytest

from quickfit.diagnosis import diagnose_recording
from quickfit.signals import Signals
from quickfit.signals.traces import with_differences
from test_real_runs import line_of, watched_once

pytestmark = [pytest.mark.tf, pytest.mark.tf_any]
SCRIPT = "traces.py"
run = watched_once(SCRIPT)


@pytest.fixture(scope="module")
def told(run):
    """Return the traces of each function by name, each with its differences."""
    assert run.done.returncode == 0, run.done.stderr
    found = {}
    for trace, differences in with_differences(Signals(run.recording).traces):
        found.setdefault(trace.name, []).append((trace, differences))
    return found


def kinds(traces):
    return [[(d.kind, d.argument) for d in differences] for _, differences in traces]


def after(traces):
    return [differences[0].after for _, differences in traces[1:]]


def test_the_probe_stays_on(run):
    states = {
        row["name"]: (row["state"], row["detail"]) for row in run.recording.main.rows("probes")
    }
    assert states["retracing"][0] == "active", states


def test_a_new_shape_is_told_with_the_lines_of_function_and_call(told):
    assert kinds(told["shapes"])[1:] == [[("shape", "x")], [("shape", "x")]]
    assert after(told["shapes"]) == ["float32[2,4]", "float32[2,5]"]
    trace, _ = told["shapes"][0]
    # The function begins at its decorator.
    assert trace.location.line == line_of(SCRIPT, "shapes") - 1
    assert trace.caller.line == line_of(SCRIPT, "shapes called")
    assert trace.duration_s > 0


def test_a_new_dtype_and_new_values_are_told(told):
    assert kinds(told["kinds"])[1:] == [[("dtype", "x")]]
    assert kinds(told["values"])[1:] == [[("value", "rate")], [("value", "training")]]
    assert after(told["values"]) == ["0.5", "True"]


def test_objects_are_told_by_class_and_number_and_never_asked(told):
    assert kinds(told["objects"])[1] == [("object", "thing")]
    assert after(told["objects"]) == [
        *("Odd #2", "Slotted", "Mode.FAST", "function <lambda> #3", "None"),
    ]


def test_nested_arguments_are_told_by_their_paths(told):
    assert kinds(told["nests"])[1] == [
        ("structure", "batch['weight']"),
        ("structure", "batch['label']"),
    ]


def test_a_function_made_anew_in_each_call_is_told(told):
    assert kinds(told["inner"]) == [[("first", "")], *[[("function", "")]] * 3]
    assert len({trace.function for trace, _ in told["inner"]}) == 4
    assert {trace.location.line for trace, _ in told["inner"]} == {line_of(SCRIPT, "inner") - 1}


def test_a_call_inside_a_traced_function_is_at_its_own_line(told):
    ((helper, _),), ((step, _),), ((late, _),) = told["helper"], told["step"], told["late"]
    assert (helper.is_nested, step.is_nested) == (True, False)
    assert helper.caller.line == line_of(SCRIPT, "helper called")
    assert step.caller.line == line_of(SCRIPT, "step called")
    assert late.caller.line == line_of(SCRIPT, "late called")


def test_relaxed_shapes_and_xla_are_told(told):
    assert after(told["compiled"]) == ["float32[None]"]
    assert all(trace.is_compiled for trace, _ in told["compiled"])
    assert not any(trace.is_compiled for trace, _ in told["shapes"])


def test_partials_lambdas_and_the_functions_of_datasets_have_their_lines(told):
    ((partial, _),), ((mapped, _),) = told["function"], told["Dataset_map_lambda"]
    assert partial.location.line == line_of(SCRIPT, "partial")
    assert mapped.location.line == line_of(SCRIPT, "mapped")
    assert mapped.caller.line == line_of(SCRIPT, "map")


def test_variables_are_told_apart_from_tensors(told):
    ((trace, _),) = told["<lambda>"]
    assert [argument.kind for argument in trace.arguments] == ["variable", "variable"]


def test_the_train_step_of_keras_has_no_line_but_a_caller(told):
    trace, _ = told["multi_step_on_iterator"][0]
    assert (trace.location, trace.caller.line) == (None, line_of(SCRIPT, "fit"))
    assert [argument.value for argument in trace.arguments] == ["float32[4,2]", "float32[4,1]"]
    # A function that makes variables is traced twice with the same arguments.
    assert kinds(told["one_step_on_data"]) == [[("first", "")], [("context", "")]]


def test_the_time_to_the_first_step_is_told_in_phases(run):
    phases = {phase.name: phase.seconds for phase in diagnose_recording(run.recording).phases}
    loop = Signals(run.recording).loop
    began_s = run.recording.main.facts["started_s"]
    assert sum(phases.values()) == pytest.approx(loop.first_step_s - began_s)
    assert phases["imports"] > 0
    assert phases["tracing"] > 0

"""`time-in-tracing`: fires when traces of one function take a share of the training."""

import pytest

from quickfit.causes.general.time_in_tracing import detect, fix
from quickfit.diagnosis.engine import diagnose_recording
from quickfit.findings import FixClass
from quickfit.signals import Signals
from traced_runs import traced_run
from whole_runs import whole_run

from builders import SCRIPT


def traced(steps, kind_of="type", **given):
    """Return a loop with a trace of 0.4 s, of a tensor of another kind, in each of some steps."""
    traces = []
    for step in steps:
        value = f"float{step}[32,8]" if kind_of == "type" else f"float32[{step},8]"
        shape = (32, 8) if kind_of == "type" else (step, 8)
        signature = f"TensorSpec(shape={shape}, dtype={value.partition('[')[0]})"
        traces.append(
            {
                "step": step,
                "seconds": 0.4,
                "args": [["x", "tensor", value]],
                "signature": signature,
            }
        )
    signals = traced_run(traces, extra_s=0.5, base={"with_model": False}, **given)
    for row in signals.recording.main.tables["steps"]:
        row["call_s"] = row["end_s"] - row["begin_s"] - 0.01
    return signals


def test_fires_at_the_function_with_its_traces():
    signals = traced(range(10, 30))
    finding = detect(signals)
    assert finding.where.line == 3
    assert finding.summary == "`step`, traced 20 times, takes much of the training"
    traces, spent = finding.evidence
    assert traces.value == 20
    assert spent.value >= 20 * 0.4
    # The first trace is needed.
    assert finding.cost_share < spent.value / 20
    assert finding.claims == ("tracing",)
    # A new graph is also set up when it first runs.
    assert finding.gain.high > 1 / (1 - finding.cost_share)
    assert fix(finding, signals).kind == FixClass.SHOW_ONLY


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(traced([10]), id="traced once"),
        pytest.param(traced([10, 20]), id="traced once more, for the last batch"),
        pytest.param(traced([10, 20, 30], step_s=1.0), id="less than a tenth"),
        pytest.param(whole_run(), id="a healthy fit"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_the_diagnosis_leaves_changing_shapes_to_their_own_cause():
    signals = traced(range(10, 30), kind_of="shape")
    causes = [f.cause for f in diagnose_recording(signals.recording).findings]
    assert "retrace-shapes" in causes
    assert "time-in-tracing" not in causes


def test_the_diagnosis_has_it_first_where_types_change():
    signals = traced(range(10, 30), kind_of="type")
    causes = [f.cause for f in diagnose_recording(signals.recording).findings]
    assert causes[:1] == ["time-in-tracing"]


def test_a_function_of_keras_is_made_anew_by_compile():
    signals = traced(range(10, 30))
    for row in signals.recording.main.tables["traces"]:
        row["name"] = "one_step_on_data"
    finding = detect(signals)
    assert finding.summary.startswith("`one_step_on_data`, traced 20 times")
    assert fix(finding, signals).title == "Call `compile()` once, before the loop"


def test_traces_at_the_line_of_another_loop_are_not_this_loops():
    signals = traced(range(10, 30))
    loops = signals.recording.main.tables["loops"]
    loops.append({**loops[0], "id": 2, "line": 99, "kind": "train_on_batch"})
    for row in signals.recording.main.tables["traces"]:
        row |= {"caller_file": loops[0]["file"], "caller_line": 99}
    again = Signals(signals.recording)
    assert detect(again.about(again.loops[0])) is None


def each_by_name(number):
    return {"model": f"functional_{number}"}


def each_named_alike(number):
    return {"model": "sequential", "model_number": number + 1}


@pytest.mark.parametrize(
    ("models", "name", "traces", "is_validated", "is_told"),
    [
        pytest.param(20, each_by_name, 20, False, False, id="a model of its own in each round"),
        pytest.param(20, each_named_alike, 20, False, False, id="as `clear_session` names them"),
        pytest.param(10, each_named_alike, 20, True, False, id="each is validated, too"),
        pytest.param(10, each_named_alike, 20, False, True, id="each compiled twice"),
        pytest.param(1, each_by_name, 20, True, True, id="one model, compiled again"),
    ],
)
def test_what_each_model_needs_is_left_out(models, name, traces, is_validated, is_told):
    signals = traced(range(10, 10 + traces))
    tables = signals.recording.main.tables
    for row in tables["traces"]:
        row["name"] = "one_step_on_data"
    end_s = tables["steps"][-1]["end_s"]
    at = dict.fromkeys(("entered_s", "begin_s", "first_step_s", "end_s"), end_s)
    fits = {**tables["loops"][0], **at, "kind": "fit", "line": 40}
    tables["loops"] += [{**fits, "id": 10 + n, "facts": name(n)} for n in range(models)]
    if is_validated:
        times = {"begin_s": end_s - 1.0, "end_s": end_s, "validation_s": 0.01}
        tables["epochs"] = [{"loop": 10, "epoch": 0, **times}]
    again = Signals(signals.recording)
    assert (detect(again.about(again.loops[0])) is not None) == is_told


LOOP_TEXT = """\
@tf.function
def step(x):
    state = x
    for turn in {over}:
        state = state + 0.01 * {body}
    return state


for x in batches:
    step(x)
"""


def unrolled(over="range(n)", body="dynamics(state)", operations=20_000, line=5):
    """Return a loop whose first trace takes nine seconds, seen at one line all the time."""
    text = LOOP_TEXT.format(over=over, body=body)
    trace = {"step": 0, "seconds": 9.0, "ops": operations, "caller_line": 10}
    signals = traced_run([trace], extra_s=9.0, text=text, steps=12)
    tables = signals.recording.main.tables
    (row,) = tables["traces"]
    row["at_s"] = tables["steps"][0]["begin_s"] + 9.0
    tables["frames"] = [
        {"id": 1, "file": SCRIPT, "line": line, "function": "step", "is_user": 1},
        {"id": 2, "file": SCRIPT, "line": 10, "function": "<module>", "is_user": 1},
    ]
    tables["stacks"] = [{"id": 1, "role": "main", "frames": [1, 2]}]
    begin_s = tables["steps"][0]["begin_s"]
    tables["samples"] = [
        {"at_s": begin_s + 0.5 * n, "stack": 1, "loop": 1, "seen": 10} for n in range(1, 19)
    ]
    return Signals(signals.recording)


def test_a_loop_that_is_unrolled_into_one_large_graph_is_named():
    signals = unrolled()
    finding = detect(signals)
    assert finding.summary == "a Python loop is unrolled into a huge graph"
    assert finding.where.line == 4
    assert [each.value for each in finding.evidence[:1]] == [20_000]
    assert "tf.range" in fix(finding, signals).example


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"operations": 900}, id="a small graph"),
        pytest.param({"over": "range(8)"}, id="few turns"),
        pytest.param({"over": "self.blocks"}, id="layers"),
        pytest.param({"body": "blocks[turn](state)"}, id="layers by their number"),
        pytest.param({"over": "tf.range(n)", "line": 3}, id="outside of the loop"),
    ],
)
def test_one_trace_is_no_defect_of(given):
    assert detect(unrolled(**given)) is None

"""Few steps are enough where they are clear, and say nothing against a healthy run."""

import pytest

from drift_runs import HOST_LINE, drifting, flat, rising
from hand_runs import COMPILED_CALL, METRIC, hand_run
from quickfit.causes.compile import retrace_python_args, retrace_shapes
from quickfit.causes.host import (
    callback_batch_slow,
    step_overhead_small_model,
    sync_each_step,
    tiny_batch,
)
from quickfit.causes.input import from_generator, py_generator_input, python_in_map, sequential_map
from quickfit.causes.slowdown import growing_host_work
from quickfit.diagnosis import diagnose_recording
from quickfit.errors import SignalMissing
from quickfit.findings import Severity
from traced_runs import traced_run

from builders import CALLBACK_LINE, HOT_LINE, recording, run

FEW = [2, 3, 5, 10]
LONG = {"step_s": 2.0, "epochs": 1}


@pytest.mark.parametrize("steps", FEW)
@pytest.mark.parametrize(
    ("cause", "given"),
    [
        pytest.param(
            py_generator_input,
            {"input": "generator", "input_wait_s": 1.9, "batch_s": 1.95},
            id="a generator",
        ),
        pytest.param(
            from_generator,
            {"input_wait_s": 1.9, "generator_s": 1.9, "cpu_cores": 1.1, "input_cores": 1.0},
            id="a generator inside tf.data",
        ),
        pytest.param(
            python_in_map,
            {
                "input_wait_s": 1.9,
                "map_s": 1.9,
                "parallelism": 1.0,
                "runs_python": True,
                "cpu_cores": 1.1,
                "input_cores": 1.0,
            },
            id="Python in a map",
        ),
        pytest.param(
            sequential_map,
            {"input_wait_s": 1.9, "map_s": 1.9, "parallelism": 1.0, "cpu_cores": 1.1},
            id="a map on one thread",
        ),
        pytest.param(
            callback_batch_slow, {"callback_s": 1.2, "callback_samples": 6}, id="a callback"
        ),
    ],
)
def test_a_few_long_steps_are_enough_for(cause, given, steps):
    assert cause.detect(run(**LONG, steps=steps, **given)) is not None


def test_the_line_of_a_slow_callback_is_named_by_two_samples():
    given = {"steps": 3, "callback_s": 1.2}
    one = callback_batch_slow.detect(run(**LONG, **given, callback_samples=1, callback_cpu_s=1.2))
    two = callback_batch_slow.detect(run(**LONG, **given, callback_samples=2))
    assert one is not None
    assert two is not None
    assert one.where is not None
    assert two.where is not None
    assert one.where.line == CALLBACK_LINE
    assert two.where.line != CALLBACK_LINE


@pytest.mark.parametrize("steps", FEW)
def test_metrics_that_are_read_in_a_few_long_steps_are_named(steps):
    stacks = [((COMPILED_CALL,), 31, 2), ((METRIC,), 33, 5)]
    given = {"step_s": 2.0, "call_s": 0.4, "wait_s": 0.0, "base": {"steps": steps}}
    finding = sync_each_step.detect(hand_run("custom", stacks=stacks, **given))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == 33


def test_metrics_seen_once_are_not_certain():
    stacks = [((COMPILED_CALL,), 31, 2), ((METRIC,), 33, 1), ((), 35, 3)]
    given = {"step_s": 2.0, "call_s": 0.4, "wait_s": 0.0, "base": {"steps": 3}}
    with pytest.raises(SignalMissing, match="so far"):
        sync_each_step.detect(hand_run("custom", stacks=stacks, **given))


def shape_traces(count):
    return [
        {"step": n, "seconds": 1.0, "args": [["x", "tensor", f"float32[16,{n + 3}]"]]}
        for n in range(count)
    ]


@pytest.mark.parametrize("steps", [3, 5, 8, 11])
def test_a_function_that_every_step_traces_anew_is_named_after_three(steps):
    given = {"step_s": 0.5, "extra_s": 1.0, "base": {"steps": steps}}
    shapes = traced_run(shape_traces(steps), **given)
    assert retrace_shapes.detect(shapes) is not None
    values = [
        {"step": n, "seconds": 1.0, "args": [["rate", "python", f"{n / 10}"]]} for n in range(steps)
    ]
    assert retrace_python_args.detect(traced_run(values, **given)) is not None


def test_tracing_a_third_of_every_step_needs_no_step_without():
    given = {"step_s": 2.0, "extra_s": 1.0, "base": {"steps": 8}}
    finding = retrace_shapes.detect(traced_run(shape_traces(8), **given))
    assert finding is not None
    assert finding.cost_share == pytest.approx(1 / 3, abs=0.02)


@pytest.mark.parametrize(
    ("steps", "traces"),
    [
        pytest.param(2, 2, id="two steps"),
        pytest.param(5, 2, id="a second shape"),
        pytest.param(8, 3, id="three shapes that take turns"),
    ],
)
def test_traces_that_do_not_go_on_are_no_pattern(steps, traces):
    given = {"step_s": 0.5, "extra_s": 1.0, "base": {"steps": steps}}
    assert retrace_shapes.detect(traced_run(shape_traces(traces), **given)) is None


@pytest.mark.parametrize("steps", [12, 16, 24])
def test_work_that_grows_with_a_dozen_long_steps_is_named(steps):
    signals = drifting(steps=steps, kind="custom", between=rising(0.2, 2.0, steps), call=flat(0.1))
    finding = growing_host_work.detect(signals)
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == HOST_LINE


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("steps", [8, 12, 16, 24])
def test_a_few_steps_of_even_length_do_not_grow(steps, seed):
    given = {"between": flat(0.7), "call": flat(0.3), "seed": seed}
    signals = drifting(steps=steps, kind="custom", **given)
    assert growing_host_work.detect(signals) is None


def busy_fit(cause_batch, delay_share):
    """Return a small model's steps, half or more of which wait for a core."""
    facts = {"input": "arrays", "batch_size": cause_batch}
    base = {"input_wait_s": 0.0, "callback_s": 0.0, "steps": 4005, "epochs": 1}
    base |= {"cpu_cores": 0.3, "other_cores": 1.7, "delay_share": delay_share}
    return hand_run("fit", stacks=[], step_s=0.003, cpu_s=0.0008, facts=facts, base=base)


@pytest.mark.parametrize(
    ("cause", "batch"),
    [
        pytest.param(step_overhead_small_model, 16, id="a small model"),
        pytest.param(tiny_batch, 4, id="a tiny batch"),
    ],
)
def test_a_step_that_waits_for_a_core_is_overhead_all_the_same(cause, batch):
    assert cause.detect(busy_fit(batch, 0.6)) is not None
    assert cause.detect(busy_fit(batch, 0.0)) is None


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("step_s", [0.005, 0.1, 2.0])
@pytest.mark.parametrize("fed", ["tf.data", "arrays", "generator"])
def test_nothing_is_said_of_a_short_healthy_run(steps, step_s, fed):
    given = {"input_wait_s": 0.01 * step_s, "callback_s": 0.002 * step_s, "map_s": 0.1 * step_s}
    made = recording(**given, steps=steps, step_s=step_s, input=fed, batch_s=0.1 * step_s, epochs=1)
    told = diagnose_recording(made).findings
    assert [f.cause for f in told if f.severity is not Severity.MENTION] == []


def test_hot_lines_of_a_few_samples_are_evidence():
    signals = run(
        **LONG, steps=3, input="generator", input_wait_s=1.9, batch_s=1.95, input_samples=3
    )
    finding = py_generator_input.detect(signals)
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == HOT_LINE

"""Functions that are traced again, and what the steps with a trace take longer."""

import pytest

from quickfit.signals.retraces import retraced, traced_steps
from traced_runs import STEP_S, traced_run

KINDS = ("function", "value", "object")


def value(step, number, **more):
    return {"step": step, "args": [["rate", "python", str(number)]], **more}


def test_traces_are_counted_by_code_and_the_longest_comes_first():
    traces = [value(20 + n, n, seconds=0.1) for n in range(4)]
    traces += [value(40 + n, n, seconds=0.5, name="other", line=5) for n in range(3)]
    found = retraced(traced_run(traces), KINDS)
    assert [(one.name, one.count) for one in found] == [("other", 2), ("step", 3)]
    assert found[0].seconds == pytest.approx(1.0)
    assert found[0].location is not None
    assert found[0].location.line == 5
    assert found[0].caller is not None
    assert found[0].caller.line == 7


def test_a_trace_with_several_differences_counts_for_the_first_kind_that_was_asked_for():
    traces = [
        {
            "step": 20 + n,
            "args": [["x", "tensor", f"float32[{n}]"], ["rate", "python", str(n)]],
        }
        for n in range(3)
    ]
    (found,) = retraced(traced_run(traces), KINDS)
    assert (found.reason.kind, found.reason.argument) == ("value", "rate")
    (found,) = retraced(traced_run(traces), ("shape",))
    assert (found.reason.kind, found.reason.argument) == ("shape", "x")


def test_warm_up_and_what_libraries_trace_are_left_out():
    early = [value(n, n) for n in range(3)]
    theirs = [value(20 + n, n, file=None, line=None) for n in range(3)]
    assert retraced(traced_run(early), KINDS) == []
    assert retraced(traced_run(theirs), KINDS) == []


def test_a_library_function_counts_where_the_script_calls_it_compiled():
    theirs = [value(20 + n, n, file=None, line=None) for n in range(3)]
    calls = [("function", 7, 100, 0.1)]
    (found,) = retraced(traced_run(theirs, calls=calls), KINDS)
    assert found.count == 2


def test_steps_with_a_trace_are_compared_to_those_without():
    traces = [value(20 + 10 * n, n) for n in range(4)]
    signals = traced_run(traces, extra_s=0.3)
    times = traced_steps(signals, signals.traces)
    assert times is not None
    assert (times.slow, times.plain) == (4, 96)
    assert times.usual_s == pytest.approx(STEP_S)
    assert times.slow_s == pytest.approx(STEP_S + 0.3)
    assert traced_steps(signals, []) is None


def test_where_every_step_traces_they_are_compared_with_themselves_less_the_traces():
    traces = [value(n, n, seconds=0.2) for n in range(105)]
    signals = traced_run(traces, extra_s=0.2)
    times = traced_steps(signals, signals.traces)
    assert times is not None
    assert times.plain == 0
    assert times.usual_s == pytest.approx(STEP_S, rel=0.1)

"""Which function was traced again, and which of its arguments differed."""

import json
from contextlib import closing

import pytest

from quickfit.findings import Location
from quickfit.recording import thinning
from quickfit.recording.reader import read_process
from quickfit.recording.writer import Writer
from quickfit.signals.traces import (
    Argument,
    Difference,
    Trace,
    retraced,
    traced_functions,
    traced_steps,
    with_differences,
)
from traced_runs import STEP_S, traced_run

STEP, CALL = Location("train.py", 7), Location("train.py", 30)


def trace(*arguments, **more):
    """Return a trace of these arguments, each a kind and a value."""
    told = tuple(Argument(f"x{place}", *argument) for place, argument in enumerate(arguments))
    usual = {
        "at_s": 1.0,
        "duration_s": 0.5,
        "name": "step",
        "location": STEP,
        "caller": CALL,
        "signature": "",
        "function": 1,
        "is_nested": False,
        "is_in_loop": True,
        "arguments": told,
    }
    return Trace(**usual | more)


def tensor(value):
    return ("tensor", value)


def python(value):
    return ("python", value)


def last(*traces):
    """Return what sets the last trace apart."""
    return list(with_differences(traces))[-1][1]


NONE = ("none", "None")


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (tensor("float32[31,10]"), tensor("float32[17,10]"), "shape"),
        (tensor("float32[31,10]"), tensor("float32[None,10]"), "shape"),
        (tensor("float32[2]"), tensor("float32[2,1]"), "shape"),
        (tensor("float32[2]"), tensor("int32[3]"), "dtype"),
        (tensor("float32[2]"), tensor("SparseTensor float32[2]"), "dtype"),
        (("variable", "float32[2] #0"), ("variable", "float32[3] #0"), "shape"),
        (("variable", "float32[2] #0"), ("variable", "float32[2] #1"), "object"),
        (python("0.1"), python("0.2"), "value"),
        (NONE, python("True"), "value"),
        (("object", "Model #1"), ("object", "Model #2"), "object"),
        (NONE, ("object", "Model #2"), "object"),
        (python("3"), tensor("int32[]"), "structure"),
        (tensor("int32[]"), NONE, "structure"),
    ],
)
def test_a_difference_is_told_by_its_kind(before, after, kind):
    told = last(trace(python("1"), before), trace(python("1"), after))
    assert told == (Difference(kind, "x1", before[1], after[1]),)


def test_arguments_that_come_and_go_are_another_structure():
    one, two = trace(python("1")), trace(python("1"), python("2"))
    assert last(one, two) == (Difference("structure", "x1", "nothing", "2"),)
    assert last(two, one) == (Difference("structure", "x1", "2", "nothing"),)


def test_the_nearest_earlier_trace_is_compared_with():
    a, b = (trace(tensor(f"float32[{n}]"), python(str(n))) for n in (1, 2))
    c = trace(tensor("float32[1]"), python("3"))
    assert last(a, b, c) == (Difference("value", "x1", "1", "3"),)


def test_the_first_trace_of_a_function_differs_from_nothing():
    other = trace(name="other", location=Location("train.py", 90))
    assert last(other, trace()) == (Difference("first"),)


def test_another_function_object_of_the_same_code_is_told():
    told = last(trace(function=4), trace(function=9))
    assert told == (Difference("function", "", "function object #4", "function object #9"),)


def test_a_function_of_keras_is_told_apart_by_the_line_that_calls_it():
    calls = [Location("train.py", line) for line in (5, 5, 6)]
    traces = [trace(function=n, location=None, caller=caller) for n, caller in enumerate(calls)]
    kinds = [differences[0].kind for _, differences in with_differences(traces)]
    assert kinds == ["first", "function", "first"]


def test_the_same_arguments_again_are_another_context():
    assert last(trace(NONE), trace(NONE)) == (Difference("context"),)


@pytest.mark.parametrize("more", [{"arguments": None}, {"left_out": 3}])
def test_arguments_that_were_not_recorded_leave_the_difference_unknown(more):
    assert last(trace(**more), trace(**more)) == (Difference("unknown"),)


def test_functions_are_summed_up_with_what_differed_most():
    sizes = [trace(tensor(f"float32[{n},10]")) for n in (31, 17, 40)]
    odd = trace(tensor("int32[31,10]"), caller=Location("train.py", 99), duration_s=0.25)
    made = [trace(function=n, name="inner", duration_s=0.1) for n in range(4)]
    step, inner = traced_functions([*sizes, odd, *made])
    assert (step.name, step.location, step.caller) == ("step", STEP, CALL)
    assert (step.traces, step.seconds, step.function_objects) == (4, 1.75, 1)
    assert (step.kind, step.argument) == ("shape", "x0")
    assert step.example == "float32[31,10] then float32[17,10]"
    assert (inner.kind, inner.argument, inner.traces) == ("function", "", 4)
    assert inner.example == "4 function objects"


def test_one_trace_has_no_example():
    (only,) = traced_functions([trace(is_nested=True)])
    assert (only.kind, only.example, only.is_nested) == ("first", "", True)


def row(number):
    told = {"args": [["n", "python", str(number)]]}
    name = "odd" if number % 3 else "even"
    place = ("train.py", 7, "train.py", 30)
    return (float(number), 0.25, name, *place, 5, "", number, 0, number // 7, json.dumps(told))


def locate(file, line):
    return Location(file, line)


def test_many_traces_become_few_rows_with_the_same_sums(tmp_path):
    count = 20_000
    with closing(Writer(tmp_path, {"role": "main"})) as writer:
        for number in range(count):
            writer.add("traces", row(number))
            if number % 500 == 499:
                writer.flush()
    rows = read_process(writer.path).rows("traces")
    traces = [Trace.from_row(row, locate) for row in rows]
    assert thinning.FULL_TRACES < len(traces) <= thinning.BOUNDS["traces"] + 500
    assert sum(trace.count for trace in traces) == count
    assert [trace.at_s for trace in traces] == sorted(trace.at_s for trace in traces)
    assert all(trace.count == 1 for trace in traces[: thinning.FULL_TRACES])
    odd, even = traced_functions(traces)
    assert (odd.traces, even.traces) == (13_333, 6_667)
    assert odd.seconds + even.seconds == 0.25 * count


def test_a_signature_reads_as_tensorflow_writes_it():
    args = [
        ["x", "tensor", "float32[2,None]"],
        ["training", "python", "True"],
        ["self", "object", "Model #1"],
    ]
    told = dict.fromkeys(("signature", "loop", "file", "line", "caller_file", "caller_line"))
    told |= {"at_s": 1.0, "duration_s": 0.5, "name": "f", "function": 1, "nested": 0}
    made = Trace.from_row(told | {"arguments": {"args": args}}, locate)
    assert made.signature == (
        "x: TensorSpec(shape=(2,None), dtype=float32), training: Literal[True], self: Model #1"
    )
    assert Trace.from_row(told | {"signature": "x: Old", "arguments": None}, locate).signature == (
        "x: Old"
    )


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

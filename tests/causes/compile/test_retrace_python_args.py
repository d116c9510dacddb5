"""`retrace-python-args`: fires when traces differ in Python values or in the function itself."""

import pytest

from quickfit.causes.compile.retrace_python_args import detect, fix
from quickfit.findings import FixClass
from traced_runs import traced_run

from builders import run, shown_fix

SOURCE = """\
import tensorflow as tf

@tf.function
def step(x, rate):
    return x * rate

    step(x, 0.01 * 0.99**n)
"""
INNER = """\
import tensorflow as tf

for x in ds:
    @tf.function
    def step(x):
        return x
    step(x)
"""
WRAPPED = """\
import tensorflow as tf

def step(x):
    return x

for x in ds:
    fast = tf.function(step)
    fast(x)
"""
X = ["x", "tensor", "float32[32,8]"]


def values(count=12, every=5, **more):
    """Return traces of one function for so many numbers."""
    args = [[X, ["rate", "python", f"0.{n}"]] for n in range(100, 100 + count)]
    return [{"step": 20 + every * n, "args": told, **more} for n, told in enumerate(args)]


def functions(count=12, **more):
    """Return traces of so many functions of the same code."""
    return [{"step": 20 + 5 * n, "args": [X], "function": n, **more} for n in range(count)]


def test_fires_at_the_call_that_gives_a_new_number():
    finding = detect(traced_run(values(), text=SOURCE))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == 7
    assert finding.summary == "`step` is traced again for every new Python value of `rate`"
    # The first one of a function is no repetition.
    assert finding.evidence[0].value == 11
    assert finding.evidence[2].value == pytest.approx(3.5, rel=0.02)
    # Setting a graph up counts as well: 11 times 250 ms of 100 steps of 100 ms and 12 of those.
    assert finding.cost_share == pytest.approx(2.75 / 13.0, rel=0.05)


@pytest.mark.parametrize(
    ("text", "line", "where"),
    [
        pytest.param(INNER, 4, 4, id="decorated in the loop"),
        pytest.param(WRAPPED, 3, 7, id="wrapped in the loop"),
    ],
)
def test_fires_at_the_line_that_makes_the_function_anew(text, line, where):
    finding = detect(traced_run(functions(line=line), text=text))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == where
    assert finding.summary == "`step` is made into a new `tf.function` and traced each time"


def test_where_every_step_traces_the_range_is_wide():
    traces = [{**t, "step": n, "seconds": 0.2} for n, t in enumerate(values(105))]
    finding = detect(traced_run(traces, text=SOURCE, cpu_s=0.25))
    assert finding is not None
    # 200 of 350 ms are traces; the main thread's other 50 ms go in part.
    assert finding.gain.low == pytest.approx(350 / 125, rel=0.02)
    assert finding.gain.high == pytest.approx(350 / 75, rel=0.02)


def test_fires_for_a_new_object_each_time():
    traces = values()
    for number, trace in enumerate(traces):
        trace["args"] = [X, ["config", "object", f"Config #{number}"]]
    finding = detect(traced_run(traces, text=SOURCE))
    assert finding is not None
    assert finding.summary == "`step` is traced again for every new Python object of `config`"
    shown = fix(finding, traced_run(traces, text=SOURCE))
    assert shown is not None
    assert shown.title == "Give the same `config` each time"


@pytest.mark.parametrize(
    ("traces", "given"),
    [
        pytest.param(values(3), {}, id="a flag that takes turns"),
        pytest.param(values(seconds=0.001), {"extra_s": 0.001}, id="quick traces"),
        pytest.param(values(), {"extra_s": 0.0, "step_s": 5.0}, id="steps with one are not slower"),
        pytest.param(
            [
                {"step": 20 + 5 * n, "args": [["x", "tensor", f"float32[32,{n}]"]]}
                for n in range(12)
            ],
            {},
            id="shapes differ",
        ),
        pytest.param(values(file=None, line=None), {}, id="a function of Keras"),
        pytest.param(values(name="Dataset_map_step"), {}, id="a dataset that is built again"),
        pytest.param(values(nested=1), {}, id="inside of another trace"),
        pytest.param(values(loop=None), {}, id="on another thread"),
        pytest.param([], {}, id="no trace"),
    ],
)
def test_stays_silent_when(traces, given):
    assert detect(traced_run(traces, text=SOURCE, **given)) is None


def test_stays_silent_on_a_healthy_fit():
    assert detect(run()) is None


def test_the_fix_makes_the_argument_a_tensor():
    signals = traced_run(values(), text=SOURCE)
    shown = shown_fix("retrace-python-args", detect(signals), signals)
    assert shown is not None
    assert shown.kind == FixClass.MAY_CHANGE_RESULTS
    assert shown.title == "Give `rate` as a tensor"
    assert not shown.before  # the page's example, because the code is not recognised
    assert "tf.constant(" in shown.example


def test_the_fix_of_a_new_function_is_to_make_it_once():
    signals = traced_run(functions(line=4), text=INNER)
    shown = fix(detect(signals), signals)
    assert shown is not None
    assert shown.kind == FixClass.SAME_RESULTS
    assert shown.before == ""
    assert shown.example.endswith("for x in ds:\n    step(x)")

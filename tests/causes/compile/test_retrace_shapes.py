"""`retrace-shapes`: fires when traces differ in nothing but shapes and take their time."""

import pytest

from quickfit.causes.compile.retrace_shapes import detect, traced_once
from quickfit.code.edits import apply_edits
from quickfit.code.module import Module
from quickfit.findings import FixClass

from builders import run

STEP_S = 0.1


def traces(count, seconds=0.05, signature="x: TensorSpec(shape=(16, {n}), dtype=tf.float32)"):
    """Return a trace in every fifth step, each with its own number in the signature."""
    return tuple((20 + 5 * n, seconds, signature.format(n=n + 3)) for n in range(count))


def slowed(given):
    """Make the steps that trace longer, as they are."""
    signals = run(**given)
    rows = signals.recording.main.tables["steps"]
    late_s = 0.0
    traced = {index for index, _, _ in given["traces"]}
    for index, row in enumerate(rows):
        row["begin_s"] += late_s
        if index in traced:
            late_s += 0.25
            row["call_s"] += 0.25
        row["end_s"] += late_s
    for trace, index in zip(signals.recording.main.tables["traces"], sorted(traced), strict=True):
        trace["at_s"] = rows[index]["begin_s"] + 0.2
    return signals


def test_fires_at_the_call_with_its_traces_counted():
    finding = detect(slowed({"traces": traces(12), "step_s": STEP_S}))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == 30
    assert finding.evidence[0].where is not None
    assert finding.evidence[0].where.line == 20
    assert finding.evidence[0].value == 12
    assert finding.evidence[2].value == pytest.approx(3.5, rel=0.05)
    # Twelve times 250 ms of a hundred steps of 100 ms and those: setting up counts as well.
    assert finding.cost_share == pytest.approx(3.0 / 13.0, rel=0.05)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"traces": traces(2)}, id="a first and a last batch"),
        pytest.param(
            {"traces": traces(12, signature="n: Literal[{n}], x: TensorSpec(shape=(16,))")},
            id="Python values differ",
        ),
        pytest.param(
            {"traces": traces(12, signature="x: TensorSpec(shape=(16, 8), dtype=tf.float32)")},
            id="the shape is always the same",
        ),
    ],
)
def test_stays_silent_when(given):
    assert detect(slowed({**given, "step_s": STEP_S})) is None


def test_stays_silent_when_traces_are_quick():
    assert detect(run(traces=traces(12, seconds=0.0005))) is None


def change(text, line, *others):
    scripts = [Module("train.py", text), *(Module(f"{i}.py", t) for i, t in enumerate(others))]
    return traced_once(scripts, file="train.py", line=line)


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        pytest.param(
            "@tf.function\ndef score(x):\n    return model(x)\n",
            1,
            "@tf.function(reduce_retracing=True)\ndef score(x):\n    return model(x)\n",
            id="a decorator",
        ),
        pytest.param(
            "@tf.function(autograph=False)\ndef score(x):\n    return model(x)\n",
            2,
            "@tf.function(autograph=False, reduce_retracing=True)\n"
            "def score(x):\n    return model(x)\n",
            id="a decorator with settings",
        ),
        pytest.param(
            "def step(x):\n    return model(x)\nrun = tf.function(step)\n",
            1,
            "def step(x):\n    return model(x)\nrun = tf.function(step, reduce_retracing=True)\n",
            id="a call",
        ),
    ],
)
def test_the_function_is_traced_once(before, line, after):
    found = change(before, line)
    assert apply_edits(before, found.edits) == after
    assert found.kind is FixClass.SAME_RESULTS


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return x.shape[1]", id="a shape"),
        pytest.param("return len(x)", id="a length"),
        pytest.param("return tf.unstack(x)", id="a list of parts"),
        pytest.param("return helper(x)", id="a function that asks for one"),
    ],
)
def test_nothing_is_edited_where_code_needs(body):
    text = f"@tf.function\ndef f(x):\n    {body}\ndef helper(x):\n    return x.get_shape()\n"
    assert change(text, 1) is None


def test_a_layer_that_asks_for_a_shape_keeps_the_function_as_it_is():
    layer = "class Flat(Layer):\n    def call(self, x):\n        return f(x, x.shape[1])\n"
    assert change("@tf.function\ndef f(x):\n    return model(x)\n", 1, layer) is None


def test_the_shape_in_the_graph_is_no_shape_in_python():
    assert change("@tf.function\ndef f(x):\n    return tf.shape(x)[0]\n", 1) is not None


@pytest.mark.parametrize(
    "settings",
    [
        "jit_compile=True",
        "input_signature=spec",
        "experimental_relax_shapes=True",
        "reduce_retracing=True",
    ],
)
def test_settings_that_decide_otherwise_stay(settings):
    assert change(f"@tf.function({settings})\ndef f(x):\n    return x\n", 1) is None


def test_two_places_that_compile_a_function_are_left_alone():
    text = "def f(x):\n    return x\na = tf.function(f)\nb = tf.function(f)\n"
    assert change(text, 1) is None


def test_fires_where_every_step_of_the_first_half_traces_and_none_later():
    signature = "x: TensorSpec(shape=(16, {n}), dtype=tf.float32)"
    given = tuple((n, 0.2, signature.format(n=n + 3)) for n in range(20))
    signals = slowed({"traces": given, "step_s": 0.02, "steps": 40})
    assert signals.steps.warmup == 5
    finding = detect(signals)
    assert finding.evidence[0].value == 15
    assert finding.gain.likely > 3


def test_without_a_plain_step_the_trace_is_compared_with_its_own_step():
    signature = "x: TensorSpec(shape=(16, {n}), dtype=tf.float32)"
    given = tuple((n, 0.2, signature.format(n=n + 3)) for n in range(30))
    finding = detect(slowed({"traces": given, "step_s": 0.05, "steps": 30}))
    assert finding.evidence[2].what == "of a step is its trace"
    assert finding.evidence[2].value == pytest.approx(0.2 / 0.3, rel=0.05)

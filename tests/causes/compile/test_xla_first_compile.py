"""`xla-first-compile`: fires when compiling takes more than the training can win back."""

import pytest

from quickfit.causes.compile.xla_first_compile import detect
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass
from quickfit.signals import Signals
from traced_runs import traced_run

from builders import COMPILE_LINE, SCRIPT, recording, run, shown_fix

SOURCE = "\n" * (COMPILE_LINE - 1) + 'model.compile("adam", loss="mse", jit_compile=True)\n'
OPEN = [["input", "float32", [None, None, 8]], ["label", "float32", [None, 1]]]
FIXED = [["input", "float32", [None, 32, 8]], ["label", "float32", [None, 1]]]


def jitted(first_s=0.0, again=(), *, text=SOURCE, facts=None, ended=True, **given):
    """Return a run with XLA whose first step, and others, took longer."""
    made = recording(**{"step_s": 0.01, "callback_s": 0.0, **given})
    tables = made.main.tables
    loop = tables["loops"][0]
    loop["facts"] |= {"jit_compile": True, "batch": OPEN, **(facts or {})}
    # The builder's first step takes two seconds longer.
    late_s = -2.0
    tables["steps"][0]["call_s"] -= 2.0
    tables["steps"][0]["end_s"] -= 2.0
    for index, row in enumerate(tables["steps"]):
        extra_s = first_s if index == 0 else dict(again).get(index, 0.0)
        row["begin_s"] += late_s if index else 0.0
        late_s += extra_s
        row["call_s"] += extra_s
        row["end_s"] += late_s if index else extra_s
    loop["end_s"] = tables["steps"][-1]["end_s"] if ended else None
    tables["epochs"] = []
    tables["sources"] = [{"file": SCRIPT, "sha256": "", "text": text}]
    return Signals(made)


OFTEN = [(20 + 10 * n, 0.5) for n in range(6)]


def test_fires_at_the_compile_when_new_shapes_come():
    finding = detect(jitted(first_s=1.0, again=OFTEN))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == COMPILE_LINE
    assert finding.summary == "XLA compiles again for every new batch shape"
    assert finding.evidence[0].value == pytest.approx(4.0, rel=0.01)
    assert finding.evidence[1].value == 6
    assert finding.claims == ("tracing",)
    # 4 s of compiling and 1.05 s of steps.
    assert finding.cost_share == pytest.approx(4.0 / 5.05, rel=0.01)
    assert finding.gain.likely == pytest.approx(5.05 / 1.25, rel=0.01)


def test_fires_for_one_compilation_that_is_most_of_a_short_training():
    finding = detect(jitted(first_s=3.0, facts={"batch": FIXED}))
    assert finding is not None
    assert finding.summary == "compiling with XLA takes a large part of this short training"
    assert finding.evidence[1].value == 0
    assert finding.gain.low < finding.gain.likely < finding.gain.high


def test_of_a_training_that_was_stopped_the_planned_length_counts():
    planned = {"epochs": 1, "steps": 105}
    assert detect(jitted(first_s=3.0, ended=False, facts=planned)) is not None
    assert detect(jitted(first_s=3.0, ended=False, facts={"epochs": 20, "steps": 105})) is None


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(jitted(first_s=3.0, facts={"jit_compile": False}), id="without XLA"),
        pytest.param(jitted(first_s=3.0, step_s=0.2), id="a training that is long enough"),
        pytest.param(jitted(first_s=0.2, again=[(30, 0.15)]), id="a smaller last batch"),
        pytest.param(
            jitted(again=OFTEN, facts={"batch": FIXED}), id="slow steps of batches of one shape"
        ),
        pytest.param(jitted(first_s=3.0, facts={"run_eagerly": True}), id="an eager step"),
        pytest.param(jitted(first_s=3.0, ended=False), id="nobody knows how long it will go on"),
        pytest.param(run(), id="a healthy run"),
    ],
)
def test_stays_silent_when(signals):
    assert detect(signals) is None


def test_stays_silent_when_new_shapes_are_traced_too():
    signals = jitted(again=OFTEN)
    tables = signals.recording.main.tables
    tables["traces"] = [
        {
            "at_s": tables["steps"][index]["begin_s"] + 0.01,
            "duration_s": 0.4,
            "name": "step",
            **dict.fromkeys(("file", "line", "caller_file", "caller_line", "ops", "signature")),
            "function": 1,
            "nested": 0,
            "loop": 1,
            "arguments": None,
        }
        for index, _ in OFTEN
    ]
    assert detect(signals) is None


def test_says_that_it_could_not_look_when_the_first_step_was_thinned_away():
    signals = jitted(first_s=3.0)
    del signals.recording.main.tables["steps"][0]
    with pytest.raises(SignalMissing, match="first step"):
        detect(signals)


def test_the_fix_turns_the_argument_off():
    signals = jitted(first_s=1.0, again=OFTEN)
    shown = shown_fix("xla-first-compile", detect(signals), signals)
    assert shown is not None
    assert shown.kind == FixClass.MAY_CHANGE_RESULTS
    assert shown.before == 'model.compile("adam", loss="mse", jit_compile=True)'
    assert shown.after == 'model.compile("adam", loss="mse", jit_compile=False)'


def test_the_fix_says_it_to_keras_which_turns_it_on_by_itself_on_a_gpu():
    text = "\n" * (COMPILE_LINE - 1) + 'model.compile("adam", "mse")\n'
    signals = jitted(first_s=1.0, again=OFTEN, text=text)
    shown = shown_fix("xla-first-compile", detect(signals), signals)
    assert shown is not None
    assert shown.after == 'model.compile("adam", "mse", jit_compile=False)'


def test_the_fix_of_a_compiled_function_is_in_its_decorator():
    text = "import tensorflow as tf\n\n@tf.function(jit_compile=True)\ndef step(x):\n    ...\n"
    trace = {"step": 0, "line": 3, "arguments": {"args": [], "jit": True}}
    signals = traced_run([trace], text=text, extra_s=20.0, base={"callback_s": 0.0})
    loop = signals.recording.main.tables["loops"][0]
    loop["end_s"] = signals.recording.main.tables["steps"][-1]["end_s"]
    for row in signals.recording.main.tables["steps"]:
        row["call_s"] = row["end_s"] - row["begin_s"]
    finding = detect(signals)
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == 3
    shown = shown_fix("xla-first-compile", finding, signals)
    assert shown is not None
    assert shown.after == "@tf.function"

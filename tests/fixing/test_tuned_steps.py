"""Offers about how a step is run."""

import pytest

from fixing.tuned_runs import SOURCE, recording, watched
from quickfit.code.edits import apply_edits
from quickfit.fixing.tuned_steps import EAGER, NO_FIT, UNSEEN, step_offers, xla_offer
from quickfit.fixing.tuned_watched import Watched

from builders import SCRIPT, START_S


def text_of(offer, text=SOURCE):
    return apply_edits(text, offer.change.edits)


def test_xla_is_offered_where_the_model_is_compiled():
    assert 'model.compile("adam", loss="mse", jit_compile=True)' in text_of(xla_offer(watched()))


def test_steps_are_offered_the_larger_number_first():
    offers = step_offers(watched(step_s=0.002))
    assert [one.name for one in offers] == ["32 steps per call", "8 steps per call"]
    assert "steps_per_execution=32)" in text_of(offers[0])
    assert "steps_per_execution=8)" in text_of(offers[1])


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param({"eager": True}, EAGER, id="eager"),
        pytest.param({"loop": {"jit_compile": True}}, "XLA compiles the step already", id="on"),
        pytest.param({"loop": {"compile_line": None}}, UNSEEN, id="loaded"),
        pytest.param(
            {"loop": {"compile_file": "/usr/lib/net.py"}},
            "net.py:16 is in a file that is not yours, or has changed since it was run",
            id="in a library",
        ),
        pytest.param({"kind": "custom"}, "this loop calls no `tf.function`", id="an eager loop"),
    ],
)
def test_xla_is_not_offered_where(given, why):
    assert xla_offer(watched(**given)).why.startswith(why)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param({"eager": True}, EAGER, id="eager"),
        pytest.param({"kind": "custom"}, NO_FIT, id="no fit"),
        pytest.param({"loop": {"compile_line": None}}, UNSEEN, id="loaded"),
        pytest.param(
            {"loop": {"steps_per_execution": 64}},
            "the script runs 64 steps per call already",
            id="more already",
        ),
        pytest.param({"loop": {"steps": 20}}, "an epoch has only 20 steps", id="short epochs"),
    ],
)
def test_steps_are_not_offered_where(given, why):
    assert step_offers(watched(step_s=0.002, **given))[0].why == why


def test_steps_are_not_offered_where_python_takes_nothing():
    said = step_offers(watched(step_s=0.2))[0].why
    assert said.startswith("Python takes only 2")
    assert said.endswith("of a step of 200 ms, so that fewer calls gain nothing")


def test_after_a_single_step_python_may_take_anything():
    assert step_offers(watched(step_s=0.2, steps=1))[0].change is not None


LOOP = "import tensorflow as tf\n\n@tf.function\ndef step(x):\n    return x\n\nstep(1)\n"


def custom(text=LOOP, *, name="step", line=3, file=SCRIPT):
    """Return a loop of the script that calls one compiled function."""
    found = recording(text, kind="custom")
    call = {"loop": 1, "kind": "function", "file": SCRIPT, "line": 7, "name": name, "calls": 9}
    found.main.tables["calls"] = [{**call, "wall_s": 1.0, "cpu_s": None, "longest_s": 0.5}]
    trace = {"at_s": START_S, "duration_s": 0.1, "name": "step", "file": file, "line": line}
    trace |= {"caller_file": SCRIPT, "caller_line": 7, "ops": 9, "signature": "", "function": 1}
    found.main.tables["traces"] = [{**trace, "nested": 0, "loop": None, "arguments": None}]
    return Watched(found, {SCRIPT: text})


def test_the_function_that_a_loop_calls_is_compiled():
    after = text_of(xla_offer(custom()), LOOP)
    assert after == LOOP.replace("@tf.function", "@tf.function(jit_compile=True)")


def test_a_function_of_a_library_is_left_alone():
    assert "is in a file that is not yours" in xla_offer(custom(file="/usr/lib/x.py")).why


def test_a_function_without_a_place_is_told():
    said = xla_offer(custom(name="other")).why
    assert said == "where the compiled function `other` is written was not seen"

"""What the calls of `fit` at one line set up, and which of them trace."""

import pytest

from fit_runs import COMPILE_LINE, SEEN, many_fits, trace
from hand_runs import hand_run
from quickfit.signals.fit_calls import fit_calls

from builders import run


def test_the_first_call_is_not_counted_as_repeated():
    calls = fit_calls(many_fits(calls=5, steps=10, traced_s=0.2))
    assert calls is not None
    assert (calls.calls, calls.steps, calls.traced, calls.models) == (5, 10, 4, 1)
    assert calls.setup_s == pytest.approx(4 * 0.05)
    assert calls.traced_share == 1.0
    assert calls.compile is not None
    assert calls.compile.line == COMPILE_LINE


def test_samples_in_fit_and_in_no_step_are_told_apart():
    calls = fit_calls(many_fits(stacks=[*SEEN, ((), 9, 100)]))
    assert calls is not None
    assert (calls.in_fit, calls.samples) == (0.25, 200)


def test_a_function_that_is_traced_again_for_another_shape_is_no_new_one():
    signals = many_fits(calls=5)
    rows = signals.recording.main.tables["traces"]
    rows += [trace(number, 1000.0 + number, 0.1, 77) for number in range(1, 6)]
    calls = fit_calls(signals)
    assert calls is not None
    assert calls.traced == 0


def test_traces_of_the_users_functions_and_nested_ones_do_not_count():
    signals = many_fits(calls=5)
    rows = signals.recording.main.tables["traces"]
    rows.append({**trace(2, 1001.0, 0.1, 5), "file": "train.py"})
    rows.append({**trace(3, 1002.0, 0.1, 6), "nested": 1})
    calls = fit_calls(signals)
    assert calls is not None
    assert calls.traced == 0


def test_a_method_that_was_looked_up_before_leaves_the_setting_up_to_the_samples():
    calls = fit_calls(many_fits(setup_s=0.0, outside_s=0.3))
    assert calls is not None
    # Half of the samples are in `fit` and in no step: of 9.65 s in all, 5.7 s between the calls.
    assert calls.setup_s == pytest.approx(9.65 / 2, rel=0.01)


def test_a_single_fit_is_one_call_without_any_setting_up():
    calls = fit_calls(run())
    assert calls is not None
    assert (calls.calls, calls.setup_s, calls.samples) == (1, 0, 0)


def test_another_kind_of_loop_has_none():
    assert fit_calls(hand_run("custom", stacks=[])) is None

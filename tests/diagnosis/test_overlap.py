"""Slow steps, and large parts without a cause, give way to the cause that explains them."""

import dataclasses

import pytest

from quickfit.diagnosis.ranking import without_double_claims, without_explained, without_vaguer
from quickfit.findings import Exhaustion, Finding, Gain, Location, Symptom


def found(cause, share, *claims, symptom=Symptom.SLOW):
    gain = Gain(1.1, 1 / (1 - share), 1 / (1 - share), "")
    return Finding(cause, None, (), gain, share, claims, cause=cause, symptom=symptom)


def told(*findings):
    shares = {"callbacks": 0.5, "checkpoint": 0.3, "step": 0.2, "between": 0.5}
    return [finding.cause for finding in without_double_claims(list(findings), shares)]


def spikes(share, *claims):
    return found("spikes", share, *claims, symptom=Symptom.SPIKES)


def test_the_cause_of_slow_steps_is_told_instead_of_them():
    own = found("checkpoint-too-often", 0.25, "checkpoint")
    assert told(spikes(0.30, "checkpoint"), own) == ["checkpoint-too-often"]


def test_slow_steps_are_told_where_another_cause_explains_a_small_part():
    own = found("callback-batch-slow", 0.10, "callbacks")
    assert told(spikes(0.40, "callbacks"), own) == ["callback-batch-slow", "spikes"]


def test_slow_steps_beside_a_cause_of_another_part_are_told():
    own = found("tiny-batch", 0.15, "step")
    assert told(spikes(0.40, "callbacks"), own) == ["tiny-batch", "spikes"]


def test_a_line_between_steps_comes_before_what_is_slow_in_general():
    general = found("train-on-batch-loop", 0.5, "between", "copies")
    assert told(general, spikes(0.48, "between")) == ["spikes"]


def general(cause, *claims, line=0):
    where = Location("train.py", line, "") if line else None
    made = found(cause, 0.3, *claims)
    return dataclasses.replace(made, is_general=True, where=where)


@pytest.mark.parametrize(
    ("claim", "specific"),
    [
        ("input_wait", found("sequential-map", 0.3, "input_wait")),
        ("input_wait", found("shuffle-buffer-too-big", 0.3, "first_step")),
        ("between", found("train-on-batch-loop", 0.3, "between", "copies")),
        ("tracing", found("fit-or-compile-in-loop", 0.3, "fit_calls")),
        ("epoch_callbacks", found("validation-dominates", 0.3, "validation", "looks")),
        ("looking_loop", found("validation-dominates", 0.3, "validation")),
        ("saving", found("checkpoint-too-often", 0.3, "checkpoint")),
    ],
)
def test_a_large_part_is_left_to_the_cause_that_explains_it(claim, specific):
    assert without_explained([specific, general("time-in-it", claim)]) == [specific]


def test_a_large_part_at_the_line_of_a_cause_is_left_to_it():
    place = Location("train.py", 7, "")
    specific = dataclasses.replace(found("tiny-batch", 0.3, "step"), where=place)
    assert without_explained([specific, general("time-in-it", "between", line=7)]) == [specific]


def test_what_a_line_keeps_in_memory_does_not_explain_its_time():
    used = Exhaustion("memory", "bytes", 1e9, 3.1e6, 5e6, 8e9, 6000.0)
    place = Location("train.py", 7, "")
    leak = dataclasses.replace(found("traced-graph-leak", 0.0), where=place, exhaustion=used)
    both = [leak, general("time-in-tracing", "tracing", line=7)]
    assert without_explained(both) == both


def test_a_large_part_beside_a_cause_of_another_part_is_told():
    both = [found("tiny-batch", 0.3, "step"), general("time-in-callback", "callbacks", line=7)]
    assert without_explained(both) == both


def test_large_parts_do_not_explain_each_other():
    both = [general("time-in-python", "between"), general("time-in-saving", "saving")]
    assert without_explained(both) == both


@pytest.mark.parametrize(
    ("share", "left"),
    [
        pytest.param(0.30, ["slow-logging"], id="most of it"),
        pytest.param(0.10, ["callback-batch-slow", "slow-logging"], id="a small part of it"),
    ],
)
def test_an_exact_cause_is_told_instead_of_a_vaguer_one_where_it_explains(share, left):
    both = [
        found("callback-batch-slow", 0.40, "callbacks"),
        found("slow-logging", share, "callbacks"),
    ]
    kept = without_vaguer(both, {"slow-logging": ("callback-batch-slow",)})
    assert [finding.cause for finding in kept] == left


def test_the_scripts_own_work_between_calls_of_fit_is_told_beside_their_set_up():
    both = [found("fit-or-compile-in-loop", 0.3, "fit_calls", "tracing")]
    both += [general("time-in-python", "between_loops", line=7)]
    assert without_explained(both) == both

"""Slow steps give way to the cause that says what makes them slow."""

from quickfit.diagnosis.overlap import without_double_claims
from quickfit.findings import Finding, Gain, Symptom


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

"""Found, clear, not checked; ranking; and the one honest sentence."""

import dataclasses

import pytest

from quickfit.causes import catalogue
from quickfit.diagnosis import diagnose_recording, engine
from quickfit.diagnosis.ranking import behind_the_first, ranked, without_double_claims
from quickfit.findings import Breakdown, BreakdownPart, Finding, Gain, Symptom
from whole_runs import Seen, finish, shift_epochs

from builders import MAP_LINE, SCRIPT, recording

GENERATOR = {"input": "generator", "input_wait_s": 0.06, "batch_s": 0.095}


def finding(cause, likely, share, *claims):
    gain = Gain(likely * 0.9, likely, likely * 1.1, "test")
    return Finding(cause, None, (), gain, share, claims, cause=cause)


def test_a_healthy_run_is_compute_bound_and_nothing_is_found():
    diagnosis = diagnose_recording(recording())
    assert diagnosis.verdict == "compute-bound"
    assert diagnosis.findings == ()
    assert "nothing here is worth fixing" in diagnosis.headline
    assert {clear.cause for clear in diagnosis.clear} >= {"py-generator-input", "sequential-map"}


def test_every_cause_is_found_clear_or_not_checked():
    for given in ({}, GENERATOR, {"with_model": False}, {"steps": 10}):
        diagnosis = diagnose_recording(recording(**given))
        named = [f.cause for f in diagnosis.findings] + [c.cause for c in diagnosis.clear]
        named += [n.cause for n in diagnosis.not_checked]
        assert sorted(named) == sorted(catalogue())


def test_a_cause_that_fails_does_not_take_the_report_along(monkeypatch):
    broken = dataclasses.replace(catalogue()["tiny-batch"], detect=lambda signals: 1 / 0)
    monkeypatch.setattr(engine, "catalogue", lambda: {**catalogue(), "tiny-batch": broken})
    diagnosis = diagnose_recording(recording(**GENERATOR))
    assert diagnosis.findings[0].cause == "py-generator-input"
    reasons = {n.cause: n.reason for n in diagnosis.not_checked}
    assert reasons["tiny-batch"].startswith(engine.OWN_ERROR)


def test_what_was_not_measured_is_not_checked_and_says_what_it_needs():
    diagnosis = diagnose_recording(recording(with_model=False))
    reasons = {n.cause: n.reason for n in diagnosis.not_checked}
    assert "sequential-map" in reasons
    assert "model of the pipeline" in reasons["sequential-map"]
    assert diagnosis.verdict == "inconclusive"


def test_an_input_bound_run_says_so_and_predicts():
    diagnosis = diagnose_recording(recording(**GENERATOR))
    assert diagnosis.verdict == "findings"
    assert diagnosis.findings[0].cause == "py-generator-input"
    assert diagnosis.findings[0].severity == "severe"
    assert diagnosis.findings[0].fix is not None
    assert diagnosis.headline.startswith("input-bound: 60 %")


@pytest.mark.parametrize("steps", [2, 3, 5, 8])
def test_a_few_steps_are_enough_for_a_verdict_that_says_how_few(steps):
    slow = diagnose_recording(recording(steps=steps, epochs=1, step_s=2.0, input_wait_s=1.8))
    assert slow.verdict == "findings"
    assert "input" in slow.headline
    assert "so far" in slow.headline
    healthy = diagnose_recording(recording(steps=steps, epochs=1, step_s=2.0))
    assert healthy.verdict == "compute-bound"
    assert healthy.findings == ()


def test_a_single_step_has_no_rate_and_still_an_account():
    diagnosis = diagnose_recording(recording(steps=1, epochs=1))
    assert diagnosis.findings == ()
    assert diagnosis.account is not None
    assert "no training step" not in diagnosis.headline


def test_no_steps_at_all_is_said_plainly():
    empty = recording(steps=0)
    empty.main.tables["loops"] = []
    diagnosis = diagnose_recording(empty)
    assert diagnosis.verdict == "no-steps"
    assert diagnosis.breakdown is None


def test_a_busy_machine_is_called_a_busy_machine():
    diagnosis = diagnose_recording(recording(other_cores=1.2, cpu_cores=0.8, delay_share=0.4))
    assert [finding.cause for finding in diagnosis.findings] == ["busy-machine"]
    assert "other programs keep the cores busy" in diagnosis.headline
    assert any("1.2 of 2 cores" in note for note in diagnosis.notes)


def test_a_wait_that_no_cause_explains_is_named_at_its_slowest_stage():
    diagnosis = diagnose_recording(recording(input_wait_s=0.05, map_s=0.15, cpu_cores=1.9))
    assert [finding.cause for finding in diagnosis.findings] == ["time-in-input-stage"]
    assert diagnosis.findings[0].where.line == MAP_LINE
    assert diagnosis.headline.startswith("input-bound")


def with_validation(seconds, **given):
    """Return a recording whose epochs end with validation that the steps wait for."""
    made = recording(**given)
    late_s, tables = 0.0, made.main.tables
    for epoch in tables["epochs"]:
        for row in tables["steps"]:
            if row["epoch"] == epoch["epoch"]:
                row["begin_s"] += late_s
                row["end_s"] += late_s
        epoch["begin_s"] += late_s
        late_s += seconds
        epoch["end_s"] += late_s
        epoch["validation_s"] = seconds
    tables["loops"][0]["end_s"] = tables["epochs"][-1]["end_s"]
    return made


def test_a_run_that_mostly_validates_is_not_called_compute_bound():
    diagnosis = diagnose_recording(with_validation(3.0))
    assert diagnosis.breakdown is not None
    shares = {part.name: part.share for part in diagnosis.breakdown.parts}
    assert shares["validation"] == pytest.approx(9 / 19, abs=0.02)
    assert diagnosis.verdict == "findings"
    assert [finding.cause for finding in diagnosis.findings] == ["time-in-validation"]


def test_ending_iterators_is_told_and_is_nobodys_mistake(monkeypatch):
    part = BreakdownPart("iterator_ends", "TensorFlow shutting its iterators down", 0.05, 0.4)
    whole = Breakdown(
        100,
        0.1,
        0.01,
        5,
        (
            *(BreakdownPart(n, n, 0.0, 0.0) for n in ("input_wait", "callbacks", "validation")),
            BreakdownPart("step", "step", 0.1, 0.6),
            part,
        ),
    )
    monkeypatch.setattr(engine, "breakdown", lambda signals: whole)
    diagnosis = diagnose_recording(recording())
    assert diagnosis.verdict == "compute-bound"
    assert "another 40 % is TensorFlow shutting its iterators down" in diagnosis.headline
    assert any(".repeat()" in text for text in diagnosis.advice)


def test_a_gain_of_the_steps_is_told_as_one_of_the_whole_training():
    steps_only = diagnose_recording(recording(callback_s=0.04)).findings[0]
    whole = diagnose_recording(with_validation(3.0, callback_s=0.04, with_model=False))
    assert whole.findings[0].cause == steps_only.cause
    assert whole.findings[0].cost_share == pytest.approx(steps_only.cost_share * 10 / 19, abs=0.03)
    assert 1.1 < whole.findings[0].gain.likely < steps_only.gain.likely


def test_a_large_part_without_a_cause_is_not_called_compute_bound():
    traces = tuple((index, 0.06, f"n: Literal[{index}]") for index in range(20, 100, 2))
    diagnosis = diagnose_recording(recording(traces=traces))
    assert [finding.cause for finding in diagnosis.findings] == ["time-in-tracing"]


def test_the_breakdown_adds_up():
    diagnosis = diagnose_recording(recording(input_wait_s=0.03, callback_s=0.02))
    assert diagnosis.breakdown is not None
    total = sum(part.share for part in diagnosis.breakdown.parts)
    assert total == pytest.approx(1.0, abs=0.01)


def test_the_early_verdict_is_compared_with_the_final_one():
    early = {"headline": "input-bound", "verdict": "findings", "causes": ["py-generator-input"]}
    run = {"exit_code": 0, "signal": None, "early": {**early, "at_step": 34}}
    held = diagnose_recording(recording(**GENERATOR, run=run)).early
    not_held = diagnose_recording(recording(run=run)).early
    assert held is not None
    assert held.held
    assert not_held is not None
    assert not not_held.held


def test_a_script_that_crashed_before_training_has_its_error_and_line_in_the_verdict():
    error = {"type": "TypeError", "message": "bad", "file": SCRIPT, "line": 2, "frames": []}
    crashed = recording(steps=0, facts={"ended_by": error}, run={"exit_code": 1, "signal": None})
    crashed.main.tables["loops"] = []
    diagnosis = diagnose_recording(crashed)
    assert "the script ended with TypeError at train.py:2" in diagnosis.headline
    assert not any("Last seen" in note for note in diagnosis.notes)


def test_a_script_that_crashed_in_its_first_step_has_the_error_before_what_was_slow():
    error = {"type": "ValueError", "message": "bad", "file": SCRIPT, "line": 30, "frames": []}
    ended = {"exit_code": 1, "signal": None}
    made = recording(steps=0, facts={"ended_by": error}, run=ended)
    finish(made, before=(Seen(8.0, 12),))
    diagnosis = diagnose_recording(made)
    assert [finding.cause for finding in diagnosis.findings] == ["time-before-training"]
    assert diagnosis.headline.startswith("no training step ended: `fit`")
    assert "the script ended with ValueError; the script is busy for long" in diagnosis.headline


@pytest.mark.parametrize("ends_s", [0.0, 6.0])
def test_ends_of_iterators_that_take_long_beside_a_finding_are_said(ends_s):
    made = recording(**GENERATOR)
    if ends_s:
        shift_epochs(made, ends_s)
        call = {"loop": 1, "kind": "end", "name": "end", "file": SCRIPT, "line": 30, "calls": 1}
        made.main.tables["calls"] = [{**call, "wall_s": ends_s, "longest_s": ends_s}]
    diagnosis = diagnose_recording(made)
    assert diagnosis.findings
    assert any("Ending iterators took" in note for note in diagnosis.notes) == bool(ends_s)


@pytest.mark.parametrize(
    ("run", "text"),
    [
        ({"exit_code": 0, "signal": None}, "finished"),
        ({"exit_code": 3, "signal": None}, "exit code 3"),
        ({"exit_code": None, "signal": "SIGKILL"}, "ended by SIGKILL"),
        ({"exit_code": None, "signal": None}, "running"),
        ({}, "unknown"),
    ],
)
def test_how_the_script_ended_is_told(run, text):
    assert diagnose_recording(recording(run=run)).outcome.text == text


def test_the_larger_claim_on_the_same_seconds_wins():
    kept = without_double_claims(
        [finding("b", 1.5, 0.5, "input_wait"), finding("a", 2.0, 0.5, "input_wait")]
    )
    assert [f.cause for f in kept] == ["a"]


def test_a_smaller_claim_keeps_and_gains_only_what_is_left():
    first, second = without_double_claims(
        [finding("b", 1.5, 0.8, "input_wait"), finding("a", 2.0, 0.5, "input_wait")]
    )
    assert first.cause == "a"
    assert second.cost_share == pytest.approx(0.3)
    # A third of the time at 0.8 of it; three eighths of that are left.
    assert second.gain.likely == pytest.approx(1 / (1 - (1 / 3) * 0.375), rel=0.01)


def test_what_trains_on_wrong_numbers_is_told_first_and_whatever_it_claims():
    wrong = dataclasses.replace(finding("w", 1.0, 0.01, "step"), symptom=Symptom.WRONG)
    order = ranked(without_double_claims([finding("a", 3.0, 0.6, "step"), wrong]))
    assert [f.cause for f in order] == ["w", "a"]


def test_what_is_hidden_behind_the_first_is_told_with_what_it_gains_then():
    first = finding("a", 2.0, 0.5, "input_wait")
    hidden = dataclasses.replace(finding("b", 1.0, 0.2, "callbacks"), gain=Gain(1, 1, 1, "none"))
    (told,) = behind_the_first([first], [hidden])
    assert told.after_first is not None
    # Seven tenths of a fifth of the old time, of half of it.
    assert told.after_first.likely == pytest.approx(0.5 / 0.36)
    assert behind_the_first([], [hidden]) == []
    assert behind_the_first([finding("c", 2.0, 0.5, "callbacks")], [hidden]) == []
    small = dataclasses.replace(hidden, cost_share=0.06)
    assert behind_the_first([first], [small]) == []


def test_what_the_machine_does_comes_after_what_the_script_does():
    machine = dataclasses.replace(finding("m", 3.0, 0.6), is_of_machine=True)
    assert [f.cause for f in ranked([machine, finding("a", 1.2, 0.2)])] == ["a", "m"]


def test_a_finding_takes_of_its_parts_only_what_it_costs():
    shares = {"looks": 0.4, "fit_calls": 0.3}
    found = [finding("a", 2.0, 0.5, "looks", "fit_calls"), finding("b", 1.4, 0.3, "fit_calls")]
    first, second = without_double_claims(found, shares)
    assert (first.cost_share, second.cost_share) == pytest.approx((0.5, 0.2))
    smaller = [finding("a", 2.0, 0.3, "looks", "fit_calls"), found[1]]
    assert without_double_claims(smaller, shares)[1].cost_share == pytest.approx(0.3)


def test_claims_on_different_seconds_both_stay():
    kept = without_double_claims(
        [finding("a", 2.0, 0.5, "input_wait"), finding("b", 1.3, 0.2, "callbacks")]
    )
    assert [f.cause for f in kept] == ["a", "b"]


def test_a_later_finding_says_what_it_gains_after_the_first():
    first, second = ranked(
        [finding("b", 1.25, 0.2, "callbacks"), finding("a", 2.0, 0.5, "input_wait")]
    )
    assert first.cause == "a"
    assert second.after_first is not None
    # A fifth of the old time is two fifths of the new one.
    assert second.after_first.likely == pytest.approx(1 / 0.6, rel=0.01)

"""The verdict on a run that was quiet: why, and whether it still is."""

from quickfit.diagnosis import diagnose_recording
from quickfit.diagnosis.verdict import silent, unexplained_silence
from quickfit.findings import Severity, Symptom
from silences import noted, quiet_run

UNKNOWN = {
    "text": "quiet, cause unknown: no step for 30 s",
    "step": 3,
    "quiet_s": 31.0,
    "moved_again_s": None,
}


def diagnosed(*silences, **given):
    return diagnose_recording(quiet_run(*silences, **given).recording)


def test_a_run_that_hangs_is_called_stuck_with_its_cause():
    diagnosis = diagnosed(noted("held-lock"))
    assert (diagnosis.verdict, diagnosis.headline) == ("stuck", "stuck: held-lock was seen")
    first = diagnosis.findings[0]
    assert (first.cause, first.symptom, first.severity) == (
        "held-lock",
        Symptom.STUCK,
        Severity.SEVERE,
    )
    assert first.where.line == 6
    assert "no step came after it" in {one.detail for one in first.evidence}
    assert first.fix is not None


def test_a_run_that_would_have_got_there_is_not_called_stuck():
    diagnosis = diagnosed(noted("cache-fill", moves=True))
    assert diagnosis.headline == "cache-fill was seen"


def test_a_cause_that_is_otherwise_known_from_steps_is_told_without_them():
    diagnosis = diagnosed(noted("shuffle-buffer-too-big", moves=True))
    assert diagnosis.findings[0].cause == "shuffle-buffer-too-big"
    assert diagnosis.findings[0].symptom == Symptom.STUCK
    assert "shuffle-buffer-too-big" not in {one.cause for one in diagnosis.not_checked}


def test_a_silence_that_ended_is_mentioned_and_does_not_decide():
    diagnosis = diagnosed(
        noted("held-lock", moved_again_s=1050.0), steps=105, with_model=True, input_samples=40
    )
    assert diagnosis.verdict == "compute-bound"
    (found,) = diagnosis.findings
    assert (found.cause, found.severity) == ("held-lock", Severity.MENTION)
    assert found.is_past


def test_a_silence_that_nothing_explains_is_told_as_it_was_said():
    diagnosis = diagnosed(UNKNOWN)
    assert (diagnosis.verdict, diagnosis.headline) == ("stuck", UNKNOWN["text"])


def test_an_unexplained_silence_that_ended_is_forgotten():
    assert unexplained_silence(quiet_run({**UNKNOWN, "moved_again_s": 1050.0})) == ""
    assert unexplained_silence(quiet_run(noted("held-lock"))) == ""
    assert unexplained_silence(quiet_run()) == ""


def test_each_cause_is_told_once_and_the_last_time_counts():
    one, other = noted("held-lock", line=5), noted("held-lock", line=6)
    diagnosis = diagnosed(one, other)
    assert [finding.where.line for finding in diagnosis.findings] == [6]


def test_a_cause_that_nobody_knows_is_left_out():
    assert silent(quiet_run(noted("no-such-cause")), []) == []


def test_what_the_causes_told_themselves_is_not_told_again():
    signals = quiet_run(noted("held-lock"))
    told = diagnose_recording(signals.recording).findings
    assert silent(signals, list(told)) == []


def test_a_run_without_steps_that_nobody_looked_at_is_not_called_healthy():
    diagnosis = diagnosed(run={"exit_code": 0, "signal": None, "script": "train.py"})
    reasons = {one.cause: one.reason for one in diagnosis.not_checked}
    assert "a look at the run while it was quiet" in reasons["held-lock"]


def test_a_run_that_was_looked_at_is_clear_of_them():
    assert "held-lock" in {one.cause for one in diagnosed().clear}

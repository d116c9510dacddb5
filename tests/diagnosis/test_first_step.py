"""The phases up to the first step reach every report, also of a run that never stepped."""

import pytest

from quickfit.diagnosis import diagnose_recording
from quickfit.diagnosis.run_facts import LABELS

from builders import recording


def test_every_phase_has_its_words_and_all_add_up_to_the_time_to_the_first_step():
    diagnosis = diagnose_recording(recording())
    assert [phase.label for phase in diagnosis.phases] == list(LABELS.values())
    total_s = sum(phase.seconds for phase in diagnosis.phases)
    assert total_s == pytest.approx(diagnosis.breakdown.time_to_first_step_s)
    assert not any(phase.is_open for phase in diagnosis.phases)


def test_a_run_without_a_step_says_where_it_is():
    made = recording()
    made.main.tables["steps"] = []
    made.main.tables["loops"] = []
    phases = diagnose_recording(made).phases
    assert [phase.is_open for phase in phases].count(True) == 1


def test_a_recording_without_a_clock_has_no_phases():
    made = recording()
    made.main.facts["started_s"] = None
    assert diagnose_recording(made).phases == ()

"""What was said during a run is held against what the whole of it shows."""

import dataclasses

import pytest

from diagnosis.test_engine import finding
from quickfit.diagnosis.run_facts import early_verdict
from quickfit.findings import Severity

from builders import recording

MACHINE = dataclasses.replace(finding("busy-machine", 2.0, 0.5), is_of_machine=True)
SLOW = finding("sequential-map", 1.5, 0.3, "input_wait")
MENTION = dataclasses.replace(SLOW, severity=Severity.MENTION)


@pytest.mark.parametrize(
    ("findings", "verdict", "is_held"),
    [
        pytest.param([], "compute-bound", True, id="the same"),
        pytest.param([MACHINE], "findings", True, id="the machine got busy"),
        pytest.param([MENTION], "compute-bound", True, id="something small beside it"),
        pytest.param([SLOW], "findings", False, id="a cause of the script"),
        pytest.param([], "nothing-large", False, id="another verdict"),
    ],
)
def test_compute_bound_holds_unless_the_script_itself_turned_out_otherwise(
    findings, verdict, is_held
):
    early = {"headline": "compute-bound", "verdict": "compute-bound", "causes": [], "at_step": 6}
    run = recording(run={"exit_code": 0, "signal": None, "early": early})
    assert early_verdict(run, verdict, findings, []).held == is_held


@pytest.mark.parametrize(
    ("findings", "why"),
    [
        pytest.param([MACHINE], "", id="still the machine alone"),
        pytest.param([SLOW, MACHINE], "the rest of the run showed sequential-map", id="a cause"),
    ],
)
def test_a_busy_machine_as_the_verdict_holds_while_the_script_itself_is_clear(findings, why):
    early = {"headline": "other programs", "verdict": "findings", "causes": ["busy-machine"]}
    run = recording(run={"exit_code": 0, "signal": None, "early": {**early, "at_step": 6}})
    said = early_verdict(run, "findings", findings, [])
    assert said.held == (not why)
    assert said.why == why


def test_a_cause_that_explains_the_same_time_better_is_named():
    early = {"headline": "input-bound", "verdict": "findings", "causes": ["map-not-vectorised"]}
    early |= {"claims": list(SLOW.claims), "at_step": 6}
    run = recording(run={"exit_code": 0, "signal": None, "early": early})
    said = early_verdict(run, "findings", [SLOW], [])
    assert not said.held
    assert said.why == "sequential-map explains the same time better than map-not-vectorised"

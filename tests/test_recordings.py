"""Replays recordings of real runs: what a report must say of each is in `expected.json`.

Changing a cause? A new finding here needs a sentence in the pull request.
"""

import json
from pathlib import Path

import pytest

from quickfit.diagnosis import diagnose
from quickfit.findings import Severity

HERE = Path(__file__).parent / "recordings"
EXPECTED = json.loads((HERE / "expected.json").read_text())


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_diagnosis_of_a_real_run_is_as_expected(name):
    diagnosis = diagnose(HERE / f"{name}.qfrun")
    expected = EXPECTED[name]
    found = [f for f in diagnosis.findings if f.severity != Severity.MENTION]
    assert diagnosis.verdict == expected["verdict"], diagnosis.headline
    assert [finding.cause for finding in found] == expected["causes"]
    for finding, line in zip(found, expected["lines"], strict=True):
        assert finding.where is not None
        assert finding.where.file == "/home/user/train.py"
        assert finding.where.line == line, finding.where.text
        assert len(finding.evidence) >= 2
        assert 1.0 <= finding.gain.low <= finding.gain.likely <= finding.gain.high


def test_every_recording_is_expected_and_every_expectation_recorded():
    assert sorted(EXPECTED) == sorted(p.stem for p in HERE.glob("*.qfrun"))

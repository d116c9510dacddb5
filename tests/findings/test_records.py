"""The records of a diagnosis are plain, frozen, public, and say what they hold."""

from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest

import quickfit.findings as findings
from quickfit import units
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Location, Severity, Symptom

RECORDS = [each for each in vars(findings).values() if is_dataclass(each)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.__name__)
def test_a_record_cannot_be_changed(record):
    instance = object.__new__(record)
    with pytest.raises(FrozenInstanceError):
        setattr(instance, fields(record)[0].name, "changed")


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.__name__)
def test_a_record_and_its_module_are_public(record):
    assert record.__name__ in findings.__all__
    assert record.__doc__


def test_every_name_that_is_listed_is_there():
    assert all(hasattr(findings, name) for name in findings.__all__)


def test_classes_symptoms_and_severities_are_their_public_words():
    assert [str(each) for each in FixClass] == [
        "same-results",
        "equivalent",
        "repairs",
        "may-change-results",
        "show-only",
    ]
    assert [str(each) for each in Severity] == ["mention", "report", "severe"]
    assert [str(each) for each in Symptom] == [
        "slow",
        "stuck",
        "slowing-down",
        "spikes",
        "memory",
        "wrong",
        "crash",
    ]


def test_every_unit_that_evidence_documents_can_be_shown():
    for unit in ("s", "bytes", "share", "factor", "count", "per_s"):
        assert f"`{unit}`" in Evidence.__doc__
        assert units.quantity(1.0, unit)


def test_a_finding_needs_no_fix_and_claims_nothing_by_itself():
    finding = Finding("slow", None, (), Gain(1.1, 1.2, 1.3, "measured"), cost_share=0.2)
    assert finding.fix is None
    assert finding.claims == ()
    assert finding.severity == Severity.REPORT


def test_equal_records_are_equal_and_can_be_keys():
    one, other = Location("train.py", 41), Location("train.py", 41)
    assert {one: 1}[other] == 1
    assert Fix("t", FixClass.REPAIRS) == Fix("t", FixClass.REPAIRS)

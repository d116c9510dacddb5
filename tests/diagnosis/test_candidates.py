"""Findings become candidates; one that fails says so and takes no other along."""

from dataclasses import replace

import pytest

from quickfit.causes import catalogue
from quickfit.diagnosis import candidates as module
from quickfit.diagnosis.candidates import candidates
from quickfit.errors import SignalMissing
from quickfit.findings import FixClass
from quickfit.fixes.change import Change, Edit

import builders
from report.builders import diagnosis, generator_finding, map_finding

EDIT = Edit("train.py", (1, 0), (1, 1), "b")
CHANGE = Change("Do it", FixClass.SAME_RESULTS, (EDIT,))


@pytest.fixture
def made(monkeypatch):
    """Return the candidates for two findings whose causes make what is given."""

    def make(first, second=lambda *args: [CHANGE]):
        known = {
            name: replace(catalogue()[name], changes=maker)
            for name, maker in (("sequential-map", first), ("py-generator-input", second))
        }
        monkeypatch.setattr(module, "catalogue", lambda: known)
        found = diagnosis(map_finding(), generator_finding())
        return candidates(builders.recording(), found, {"train.py": "a = 1\n"})

    return make


def test_alternatives_of_one_finding_stay_together_and_in_order(made):
    other = replace(CHANGE, title="Or this")
    groups, without = made(lambda *args: [CHANGE, other])
    assert [[c.change for c in group] for group in groups] == [[CHANGE, other], [CHANGE]]
    assert groups[0][0].cause == "sequential-map"
    assert without == []


def test_a_cause_gets_the_users_files(made):
    seen = []

    def make(finding, signals, project):
        seen.append((finding.cause, project.files))
        return [CHANGE]

    made(make)
    assert seen == [("sequential-map", ("train.py",))]


@pytest.mark.parametrize(
    "maker",
    [
        pytest.param(None, id="no edit is known"),
        pytest.param(lambda *args: [], id="not recognised"),
        pytest.param(lambda *args: [replace(CHANGE, edits=())], id="a change without an edit"),
    ],
)
def test_a_finding_without_an_edit_is_told_apart(made, maker):
    groups, without = made(maker)
    assert len(groups) == 1
    assert [(one.finding.cause, one.why) for one in without] == [("sequential-map", "")]


def test_what_was_not_recorded_is_named(made):
    def make(*args):
        raise SignalMissing("the probe tf_data")

    _, without = made(make)
    assert without[0].why == "needs the probe tf_data"


def test_an_error_of_ours_is_said_and_takes_no_other_along(made):
    def make(*args):
        raise ZeroDivisionError("oh")

    groups, without = made(make)
    assert len(groups) == 1
    assert without[0].why == "an error in quickfit: ZeroDivisionError: oh"

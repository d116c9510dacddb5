"""Findings become candidates; one that fails says so and takes no other along."""

from dataclasses import replace

import pytest

from quickfit.causes import catalogue
from quickfit.diagnosis import candidates as module
from quickfit.diagnosis import texts
from quickfit.diagnosis.candidates import candidates
from quickfit.errors import FixError, SignalMissing
from quickfit.findings import Change, Edit, Fix, FixClass, Severity

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


def test_an_edit_that_would_gain_nothing_says_why(made):
    def make(*args):
        raise FixError("it would gain nothing")

    groups, without = made(make)
    assert len(groups) == 1
    assert [one.why for one in without] == ["it would gain nothing"]


def test_a_cause_gets_the_users_files(made):
    seen = []

    def make(finding, signals, project):
        seen.append((finding.cause, tuple(project.paths)))
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


@pytest.fixture
def shown(monkeypatch):
    """Return a finding about the script of `builders` as it is told, with a cause's changes."""

    def show(maker, **given):
        known = {"sequential-map": replace(catalogue()["sequential-map"], changes=maker, scan=None)}
        for place in (module, texts):
            monkeypatch.setattr(place, "catalogue", lambda: known)
        finding = map_finding(
            fix=Fix("Advice", FixClass.SHOW_ONLY, example="b = 1", short_way="c = 1"), **given
        )
        return module.with_own_edits([finding], builders.run())[0]

    return show


IN_SCRIPT = Change("Do it", FixClass.SAME_RESULTS, (Edit(builders.SCRIPT, (1, 0), (1, 6), "use"),))


def test_a_finding_shows_the_edit_that_fix_would_make(shown):
    fix = shown(lambda *args: [IN_SCRIPT, CHANGE]).fix
    assert (fix.title, fix.kind, fix.example) == ("Do it", FixClass.SAME_RESULTS, "")
    assert (fix.before, fix.after) == ("import tensorflow as tf", "use tensorflow as tf")
    assert fix.short_way == "c = 1"  # it stays beside the edit


@pytest.mark.parametrize(
    "maker",
    [
        pytest.param(None, id="no edit is known"),
        pytest.param(lambda *args: [], id="not recognised"),
        pytest.param(lambda *args: [CHANGE], id="a file that was not recorded"),
        pytest.param(lambda *args: 1 / 0, id="an error of ours"),
    ],
)
def test_advice_stays_where_there_is_no_edit_to_show(shown, maker):
    assert shown(maker).fix.title == "Advice"


def test_what_is_only_mentioned_is_not_parsed(shown):
    def make(*args):
        raise AssertionError

    assert shown(make, severity=Severity.MENTION).fix.title == "Advice"
